/* SPDX-License-Identifier: MIT
 * Where the functions begin that hold given addresses, by a module's symbol tables. */
#ifndef SYMBOLS_STARTS_H
#define SYMBOLS_STARTS_H

#include "symbols/symbolizer.h"

#define NO_START UINT64_MAX

/* Fills starts[i] for each address, NO_START if it is not known. A missing file is no error. */
int function_starts(const struct symbolizer_module *module, const u64 *addresses, u64 count,
		    u64 *starts, struct err *err);

#endif
