/* SPDX-License-Identifier: MIT
 * Finds separate debug files, as a callback of libdwfl. */
#ifndef HOST_SYMBOLS_DEBUG_FIND_H
#define HOST_SYMBOLS_DEBUG_FIND_H

#include <elfutils/libdwfl.h>

#include "host/base/strbuf.h"
#include "format/types.h"

/* What the callbacks get by a module's user data. */
struct module_lookup {
	const char *path; /* folders, as libdwfl wants them */
	Elf *elf;         /* of a module that is no file; NULL otherwise */
};

/* Adds /.build-id/xx/yyyy, where a folder has what belongs to the build-id. */
void debug_add_build_id(struct strbuf *path, const u8 *build_id, u64 bytes);

bool debug_servers_named(void);

int debug_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	       const char *file_name, const char *link, GElf_Word link_check, char **found);

#endif
