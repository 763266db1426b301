/* SPDX-License-Identifier: MIT
 * Where the dynamic linker's list of modules is: each C library has its own name for it. Runs in
 * the target. */
#ifndef TARGET_RECORDER_STATE_LOADER_H
#define TARGET_RECORDER_STATE_LOADER_H

#include <link.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"))); /* ours */

#ifdef HWR_MUSL
extern struct r_debug *_dl_debug_addr __attribute__((weak));

static inline const struct r_debug *hwr_loader(void)
{
	return &_dl_debug_addr ? _dl_debug_addr : NULL;
}
#else
extern struct r_debug _r_debug __attribute__((weak));

/* NULL if there is none */
static inline const struct r_debug *hwr_loader(void) { return &_r_debug; }
#endif

#endif
