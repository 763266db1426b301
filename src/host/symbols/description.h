/* SPDX-License-Identifier: MIT
 * How a trace describes a module: what is needed to find the file that was loaded. */
#ifndef HOST_SYMBOLS_DESCRIPTION_H
#define HOST_SYMBOLS_DESCRIPTION_H

#include "format/types.h"

struct symbolizer_module {
	const char *path;
	const u8 *build_id; /* a file with another one is not used; none = take what is there */
	u32 build_id_bytes;
	u32 arch; /* ELF e_machine, 0 = any */
};

#endif
