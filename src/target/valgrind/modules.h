/* SPDX-License-Identifier: GPL-2.0-or-later
 * Announces the modules that stacks go through, as src/target/recorder/unwind/modules.c does: the
 * first time an address of their code is met, before any context that names it. */
#ifndef TARGET_VALGRIND_MODULES_H
#define TARGET_VALGRIND_MODULES_H

#include "target/valgrind/tool.h"

/* Root of the contexts that are made now: 0, or a generation node after an address range was taken
 * over by another module. */
extern u32 hwv_root_node;

void hwv_modules_reset(void);

/* Writes the first notes of the log: executable and arguments. */
void hwv_modules_tell_image(void);

/* An address of code was met for the first time in this generation. */
void hwv_modules_saw(Addr code);

/* True if code at this address may have been replaced since it was met. Cheap when nothing was
 * unloaded. Then hwv_modules_saw must be called. */
extern u32 hwv_modules_doubtful;
Bool hwv_modules_doubts(Addr code);

/* Memory was unmapped. */
void hwv_modules_unmapped(Addr start, SizeT bytes);

/* Whether there can be code at an address. */
Bool hwv_is_code(Addr code);

/* Whether the code is of the library that stands in for malloc and memcpy. */
Bool hwv_is_replacement(Addr code);

#endif
