/* SPDX-License-Identifier: MIT
 * Names of event kinds, as dump shows them and scripts read them: "malloc", "new_array" … */
#ifndef CLI_KINDS_H
#define CLI_KINDS_H

#include "format/types.h"

/* "unknown" for a number that is none. */
const char *kind_name(u32 kind);

#endif
