/* SPDX-License-Identifier: MIT
 * An answer on its way to the client. */
#ifndef SHOW_SERVE_SEND_H
#define SHOW_SERVE_SEND_H

#include "show/serve/mhd.h"
#include "show/serve/request.h"

/* Takes the answer over, which took so long to make. */
enum MHD_Result answer_send(struct MHD_Connection *connection, struct answer *answer, u64 run_ns);

#endif
