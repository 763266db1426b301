/* SPDX-License-Identifier: MIT
 * Names for the stubs of the procedure linkage table, which have no symbols of their own. */
#ifndef HOST_SYMBOLS_PLT_H
#define HOST_SYMBOLS_PLT_H

#include "host/symbols/elfsyms.h"

/* Appends a symbol per stub whose target has a name. A table of an unknown shape adds nothing. */
int plt_read(struct elfsyms *symbols, Elf *elf);

#endif
