/* SPDX-License-Identifier: MIT
 * Modules that are loaded with RTLD_DEEPBIND (PHP's extensions are) look for functions in the C library before they look at us: what
 * they allocate and free would not be seen, and where blocks are on a heap of ours the C library would be given them to free. So
 * what such a module was bound to past us is bound to us, before it is used. Runs in the target. */
#ifndef TARGET_RECORDER_HOOKS_BINDINGS_H
#define TARGET_RECORDER_HOOKS_BINDINGS_H

#include "format/atomics.h"
#include "target/recorder/state/own.h"

/* How many threads load such modules. */
extern u32 hwr_bindings_loading HWR_OWN;

/* Binds the modules that this thread loads to us, if there are any yet. */
void hwr_bindings_mend(void);

/* At an event of any thread that does not come from the loader: constructors are called when it is done with all modules. */
static inline void hwr_bindings_look(void)
{
	if (unlikely(load_relaxed(&hwr_bindings_loading)))
		hwr_bindings_mend();
}

#endif
