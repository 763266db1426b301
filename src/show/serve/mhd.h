/* SPDX-License-Identifier: MIT
 * libmicrohttpd, loaded when a server starts. */
#ifndef SHOW_SERVE_MHD_H
#define SHOW_SERVE_MHD_H

#include <microhttpd.h>

#include "host/base/err.h"

#define MHD_FUNCTIONS(X)                                                                           \
	X(add_response_header)                                                                     \
	X(create_response_from_buffer)                                                             \
	X(create_response_from_callback)                                                           \
	X(destroy_response)                                                                        \
	X(get_connection_info)                                                                     \
	X(get_connection_values)                                                                   \
	X(queue_response)                                                                          \
	X(quiesce_daemon)                                                                          \
	X(set_connection_option)                                                                   \
	X(start_daemon)                                                                            \
	X(stop_daemon)

struct mhd {
#define X(name) __typeof__(MHD_##name) *name;
	MHD_FUNCTIONS(X)
#undef X
};

/* As mhd_load has found them. */
extern struct mhd mhd;

/* Safe to call again. ERR_SYSTEM with what to install. */
int mhd_load(struct err *err);

#endif
