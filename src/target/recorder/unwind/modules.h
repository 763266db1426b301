/* SPDX-License-Identifier: MIT
 * Which modules the recorded stacks go through, and when one was replaced by another.
 * Runs in the target. A module is announced to the monitor when the unwinder first meets it, before
 * any context that names its code; so no loader call is interposed and no loader lock is needed. */
#ifndef TARGET_RECORDER_UNWIND_MODULES_H
#define TARGET_RECORDER_UNWIND_MODULES_H

#include "format/atomics.h"
#include "target/recorder/state/objects.h"

/* Range of the dynamic loader's code: an allocator call from there may mean that modules
 * changed. */
extern u64 hwr_loader_start HWR_OWN, hwr_loader_bytes HWR_OWN;

/* Root of the contexts that are made now: 0, or a generation node after an address range was
 * taken over by another module. */
extern u32 hwr_root_node HWR_OWN;
extern u64 hwr_root_hash HWR_OWN;

void hwr_modules_init(void);

/* Writes the first notes of the log: executable and arguments. */
void hwr_modules_tell_image(void);

/* With HW_RUN_LISP, before any of them: functions that runtimes name have a module of their own. */
void hwr_modules_tell_codes(void);

/* The name of such a function; false if it could not be told. And what a runtime's library says of
 * itself. */
bool hwr_modules_tell_code(u32 number, const char *name);
void hwr_modules_tell_runtime(const char *text);

/* The unwinder met this module. Cheap when it is known. False: somebody else is at work or the log
 * is full; nothing may be cached about its code, so that it is met again. */
bool hwr_modules_saw(const struct hwr_module_at *module);

/* The module is loaded; nobody met it, perhaps. */
void hwr_modules_list(const struct hwr_module_at *module);

/* The loader called the allocator: look whether anything was unloaded, and forget what was cached
 * about code if so. */
void hwr_modules_check(void);

/* ---- what modules that come and go ask of others ---- */

/* hooks/pools.c: a module may have come, which has functions to look for. To be called by the
 * thread that loads. And some have gone: those that come may be at their addresses. */
void hwr_pools_look(void);
void hwr_pools_forget(void);

/* hooks/operators.c: the one with the operators may have gone. Weak: libheapwise.a leaves the
 * operators out of programs that call none. */
void hwr_operators_forget(void) __attribute__((weak));

/* hooks/bindings.c. Modules that are loaded with RTLD_DEEPBIND (PHP's extensions are) look for
 * functions in the C library before they look at us: what they allocate and free would not be seen,
 * and where blocks are on a heap of ours the C library would be given them to free. So what such a
 * module was bound to past us is bound to us, before it is used. How many threads load such
 * modules. */
extern u32 hwr_bindings_loading HWR_OWN;

/* Binds the modules that this thread loads to us, if there are any yet. */
void hwr_bindings_mend(void);

/* At an event of any thread that does not come from the loader: constructors are called when it is
 * done with all modules. */
static inline void hwr_bindings_look(void)
{
	if (unlikely(load_relaxed(&hwr_bindings_loading)))
		hwr_bindings_mend();
}

#endif
