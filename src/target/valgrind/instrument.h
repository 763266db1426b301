/* SPDX-License-Identifier: GPL-2.0-or-later
 * Adds a call to each load and store of the program's code. */
#ifndef TARGET_VALGRIND_INSTRUMENT_H
#define TARGET_VALGRIND_INSTRUMENT_H

#include "target/valgrind/tool.h"
#include <pub_tool_tooliface.h>

IRSB *hwv_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
		     const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
		     IRType host_word);

#endif
