/* SPDX-License-Identifier: MIT
 * Split debug files whose units are in several sections of one name. gcc writes them with
 * -gsplit-dwarf -fdebug-types-section, one section per type, and no linker ever joins them;
 * libdw reads one only. */
#ifndef HOST_SYMBOLS_DWO_H
#define HOST_SYMBOLS_DWO_H

#include <elfutils/libdw.h>

#include "host/base/strbuf.h"

struct dwo {
	struct strbuf image; /* the file with its sections joined */
	Elf *elf;
	Dwarf *dwarf;
};

/* The path of the split file that a skeleton unit names, into path; false if it names none. */
bool dwo_path(Dwarf_Die *skeleton, struct strbuf *path);

/* True if the file at path is of that kind and could be opened; any other is libdw's own to
 * read. */
bool dwo_open(struct dwo *self, const char *path);
void dwo_close(struct dwo *self);

#endif
