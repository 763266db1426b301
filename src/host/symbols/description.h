/* SPDX-License-Identifier: MIT
 * How a trace describes a module: what is needed to find the file that was loaded. */
#ifndef HOST_SYMBOLS_DESCRIPTION_H
#define HOST_SYMBOLS_DESCRIPTION_H

#include <string.h>

#include "host/base/arena.h"

struct symbolizer_module {
	const char *path;
	const u8 *build_id; /* a file with another one is not used; none = take what is there */
	u32 build_id_bytes;
	u32 arch; /* ELF e_machine, 0 = any */
};

/* A copy whose texts are in the arena; false without memory. */
static inline bool symbolizer_module_copy(struct arena *arena, const struct symbolizer_module *from,
					  struct symbolizer_module *to)
{
	u32 bytes = from->build_id ? from->build_id_bytes : 0;
	const char *path = arena_copy(arena, from->path ? from->path : "");
	u8 *build_id = arena_alloc(arena, bytes);

	if (build_id && bytes)
		memcpy(build_id, from->build_id, bytes);
	*to = (struct symbolizer_module){path, build_id, bytes, from->arch};
	return path && build_id;
}

#endif
