/* SPDX-License-Identifier: MIT
 * One module's files, opened: the right ELF by path or build-id, its symbols and debug info. */
#ifndef HOST_SYMBOLS_MODULE_H
#define HOST_SYMBOLS_MODULE_H

#include "host/symbols/debuginfo.h"
#include "host/symbols/description.h"
#include "host/symbols/elfsyms.h"
#include "host/symbols/rtti.h"
#include "host/symbols/type_symbols.h"

struct module {
	Dwfl *dwfl;
	Dwfl_Module *handle;
	struct elfsyms symbols;
	struct elfsyms data; /* variables, read when they are first asked for */
	bool has_data;
	struct type_symbols types; /* read when they are first asked for */
	struct rtti rtti;          /* read when no symbol answers */
	struct debuginfo debuginfo;
	bool has_debuginfo;
	struct module_lookup *lookup; /* libdwfl has a pointer to it */
	void *vdso; /* copy of the kernel's module, which libelf reads; NULL otherwise */
};

/* Where separate debug files are. libdwfl keeps pointers to it. */
struct module_places {
	Dwfl_Callbacks callbacks;
	char *path; /* as libdwfl wants it */
};

/* extra may be NULL. False if memory is short. */
bool module_places_init(struct module_places *self, const char *extra);
void module_places_release(struct module_places *self);

/* Whether elf is an executable or library of the described architecture and build-id. */
bool elf_is_module(Elf *elf, const struct symbolizer_module *description);

/* 0; ERR_INPUT if there is no usable file; ERR_MEMORY. */
int module_open(struct module *self, const struct symbolizer_module *description,
		const struct module_places *places);
void module_close(struct module *self);

/* The same without reading: only *dwarf, NULL if the module has no debug info. */
int module_open_dwarf(struct module *self, const struct symbolizer_module *description,
		      const struct module_places *places, Dwarf **dwarf);
/* Fills debuginfo of what was opened like that, if there is any. 0 or ERR_MEMORY. */
int module_read_debuginfo(struct module *self);

#endif
