/* SPDX-License-Identifier: MIT
 * Names of event kinds and chunk classes, as dump and exports show them and scripts read them:
 * "malloc", "new_array" … "lost" … */
#ifndef HOST_TRACE_KINDS_H
#define HOST_TRACE_KINDS_H

#include "format/types.h"

/* "unknown" for a number that is none. */
const char *kind_name(u32 kind);

/* The call that a kind is counted under, as the list of kinds has it: "new" for new_array, too.
 * NULL if it is none. */
const char *kind_call(u32 kind);

/* Of enum chunk_class: "reachable", "possible", "indirect", "lost", "unknown". */
const char *class_name(u32 chunk_class);

#endif
