/* SPDX-License-Identifier: MIT
 * Which modules the recorded stacks go through, and when one was replaced by another.
 * Runs in the target. A module is announced to the monitor when the unwinder first meets it, before
 * any context that names its code; so no loader call is interposed and no loader lock is needed. */
#ifndef TARGET_RECORDER_UNWIND_MODULES_H
#define TARGET_RECORDER_UNWIND_MODULES_H

#include "format/types.h"
#include "target/recorder/state/own.h"

struct hwr_module_at;

/* Range of the dynamic loader's code: an allocator call from there may mean that modules changed. */
extern u64 hwr_loader_start HWR_OWN, hwr_loader_bytes HWR_OWN;

/* Range of the recorder itself; its code at least. */
extern u64 hwr_own_start HWR_OWN, hwr_own_bytes HWR_OWN;

/* Root of the contexts that are made now: 0, or a generation node after an address range was
 * taken over by another module. */
extern u32 hwr_root_node HWR_OWN;
extern u64 hwr_root_hash HWR_OWN;

void hwr_modules_init(void);

/* Writes the first notes of the log: executable and arguments. */
void hwr_modules_tell_image(void);

/* With HW_RUN_LISP, before any of them: functions that runtimes name have a module of their own. */
void hwr_modules_tell_codes(void);

/* The name of such a function; false if it could not be told. And what a runtime's library says of itself. */
bool hwr_modules_tell_code(u32 number, const char *name);
void hwr_modules_tell_runtime(const char *text);

/* The unwinder met this module. Cheap when it is known. False: somebody else is at work or the log is
 * full; nothing may be cached about its code, so that it is met again. */
bool hwr_modules_saw(const struct hwr_module_at *module);

/* The module is loaded; nobody met it, perhaps. */
void hwr_modules_list(const struct hwr_module_at *module);

/* The loader called the allocator: look whether anything was unloaded, and forget what was cached
 * about code if so. */
void hwr_modules_check(void);

#endif
