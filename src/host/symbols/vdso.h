/* SPDX-License-Identifier: MIT
 * The module that the kernel maps into every process and that no file holds. */
#ifndef HOST_SYMBOLS_VDSO_H
#define HOST_SYMBOLS_VDSO_H

#include <libelf.h>

#include "host/symbols/symbolizer.h"

/* This process's own vdso if it is the recorded one by build-id, NULL otherwise. *memory is to be
 * freed after the Elf was ended. */
Elf *vdso_open(const struct symbolizer_module *description, void **memory);

#endif
