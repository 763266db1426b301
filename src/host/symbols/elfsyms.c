/* SPDX-License-Identifier: MIT
 * Reads a module's symbol tables into one sorted array and searches it.
 * Runs on the host. Never asks libdwfl for an address: its search is linear in the symbols. */
#include "host/symbols/elfsyms.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/err.h"
#include "host/base/order.h"
#include "host/base/search.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/symbols/ada_names.h"

/* How far the search goes back through symbols that overlap; real tables nest two or three deep. */
enum { NESTING_MAX = 64 };

/* ELF for ARM marks code and data with $x, $d, $t, with or without a suffix. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && strchr("xdta", name[1]) && (!name[2] || name[2] == '.');
}

static bool is_code(const GElf_Sym *symbol, GElf_Word section, const char *name)
{
	u8 type = GELF_ST_TYPE(symbol->st_info);

	if (section == SHN_UNDEF || section == SHN_ABS || !name || !name[0])
		return false;
	if (type == STT_NOTYPE)
		return !is_mapping_symbol(name);
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static bool is_data(const GElf_Sym *symbol, GElf_Word section, const char *name)
{
	return section != SHN_UNDEF && section != SHN_ABS && name[0] && symbol->st_size &&
	       GELF_ST_TYPE(symbol->st_info) == STT_OBJECT;
}

/* End of the section that holds a symbol without size; 0 if it lies outside of any code. */
static u64 section_end(Elf *elf, GElf_Word section, GElf_Addr bias, u64 address)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	GElf_Shdr header;

	if (!scn || !gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_EXECINSTR))
		return 0;
	if (address - bias - header.sh_addr >= header.sh_size)
		return 0;
	return header.sh_addr + header.sh_size + bias;
}

/* Public names before local ones, sized before unsized; then what a programmer would have written:
 * malloc before __libc_malloc. */
static u8 symbol_rank(const GElf_Sym *symbol, const char *name)
{
	u8 rank = 0;

	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank |= ELFSYM_LABEL;
	if (!symbol->st_size)
		rank |= ELFSYM_UNSIZED;
	if (GELF_ST_BIND(symbol->st_info) == STB_LOCAL)
		rank |= ELFSYM_LOCAL;
	if (name[0] == '_' && name[1] != 'Z' && name[1] != 'R')
		rank |= (u8)(strspn(name, "_") & 7);
	return rank;
}

typedef bool wanted_symbol(const GElf_Sym *symbol, GElf_Word section, const char *name);

struct symbol_reading {
	Dwfl_Module *module;
	GElf_Addr bias;
	wanted_symbol *wanted;
};

static int add_symbol(struct elfsyms *self, const struct symbol_reading *reading, int index)
{
	GElf_Sym symbol;
	GElf_Addr address;
	GElf_Word section;
	Dwarf_Addr bias;
	Elf *elf;
	const char *name = dwfl_module_getsym_info(reading->module, index, &symbol, &address,
						   &section, &elf, &bias);
	struct elfsym new = {0};

	if (!name || !reading->wanted(&symbol, section, name))
		return 0;
	new.start = address - reading->bias;
	new.end = new.start + symbol.st_size;
	new.name = name;
	new.rank = symbol_rank(&symbol, name);
	if (!symbol.st_size)
		new.end = section_end(elf, section, bias, address) - reading->bias;
	if (new.end <= new.start)
		return 0;
	if (GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
		self->has_local = true;
	return vec_push(self, new) ? 0 : ERR_MEMORY;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct elfsym *x = a, *y = b;

	return rising(x->start, y->start) ?: rising(x->rank, y->rank) ?: strcmp(x->name, y->name);
}

/* Keeps the best name of each address, lets symbols without size end where the next one starts, and
 * drops labels inside of functions. In a table of exported names alone the next one may be far,
 * with hidden functions between: there a symbol without size (compilers make them of unreachable
 * code) says nothing about what follows it. */
static void tidy(struct elfsyms *self)
{
	u64 kept = 0, reach = 0, sized_reach = 0;

	for (u64 i = 0; i < self->count; i++) {
		struct elfsym symbol = self->data[i];
		bool unsized = symbol.rank & ELFSYM_UNSIZED;
		u64 next = i + 1;

		if (kept && self->data[kept - 1].start == symbol.start)
			continue;
		if (unsized && (symbol.start < sized_reach || !self->has_local))
			continue;
		while (unsized && next < self->count && self->data[next].start == symbol.start)
			next++;
		if (unsized && next < self->count && self->data[next].start < symbol.end)
			symbol.end = self->data[next].start;
		if (!unsized && symbol.end > sized_reach)
			sized_reach = symbol.end;
		if (symbol.end > reach)
			reach = symbol.end;
		symbol.reach = reach;
		self->data[kept++] = symbol;
	}
	self->count = kept;
}

/* GNAT's binder gives each of its programs a function adainit. */
static void mark_ada(struct elfsyms *self)
{
	bool ada = false;

	for (u64 i = 0; i < self->count && !ada; i++)
		ada = !strcmp(self->data[i].name, "adainit");
	for (u64 i = 0; i < self->count && ada; i++)
		self->data[i].ada = ada_is_possible(self->data[i].name);
}

/* ---- stubs ----
 *
 * The stubs of .plt and .plt.sec, which have no symbols of their own, are paired with the
 * relocations that fill their slots: linkers emit both in the same order. Nothing is disassembled:
 * a table that does not divide evenly into stubs of a known size is left alone. */

enum { STUB_BYTES_SMALL = 16, STUB_BYTES_LARGE = 24 };
enum { RANK_STUB = ELFSYM_LABEL | ELFSYM_LOCAL | 15 }; /* behind any symbol that has a size */

struct plt {
	GElf_Shdr stubs;       /* .plt */
	GElf_Shdr secure;      /* .plt.sec, sh_size 0 = none */
	GElf_Shdr relocations; /* .rela.plt, sh_size 0 = none */
	Elf_Scn *relocations_scn;
};

static void plt_find(struct plt *self, Elf *elf)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name)
			continue;
		if (!strcmp(name, ".plt"))
			self->stubs = header;
		if (!strcmp(name, ".plt.sec"))
			self->secure = header;
		if (!strcmp(name, ".rela.plt") && header.sh_type == SHT_RELA) {
			self->relocations = header;
			self->relocations_scn = scn;
		}
	}
}

/* Address of the first stub and bytes per stub; false if the shape is unknown. .plt starts with a
 * header for lazy binding, of 16 bytes on x86_64 and 32 on aarch64; .plt.sec has none. */
static bool plt_shape(const struct plt *self, u64 count, u64 *first, u64 *stub_bytes)
{
	static const u64 header_bytes[] = {16, 32, 0};

	if (self->secure.sh_size) {
		*first = self->secure.sh_addr;
		*stub_bytes = self->secure.sh_size / count;
		return self->secure.sh_size == count * STUB_BYTES_SMALL;
	}
	for (u32 i = 0; i < 3; i++) {
		u64 rest = self->stubs.sh_size - header_bytes[i];

		if (self->stubs.sh_size < header_bytes[i])
			continue;
		*first = self->stubs.sh_addr + header_bytes[i];
		*stub_bytes = rest / count;
		if (rest == count * STUB_BYTES_SMALL || rest == count * STUB_BYTES_LARGE)
			return true;
	}
	return false;
}

static const char *relocation_target(Elf *elf, Elf_Scn *symbols, const GElf_Rela *relocation)
{
	Elf_Data *data = elf_getdata(symbols, NULL);
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(symbols, &header) || !GELF_R_SYM(relocation->r_info))
		return NULL;
	if (!gelf_getsym(data, (int)GELF_R_SYM(relocation->r_info), &symbol))
		return NULL;
	return elf_strptr(elf, header.sh_link, symbol.st_name);
}

/* Appends a symbol per stub whose target has a name. A table of an unknown shape adds nothing. */
static int plt_read(struct elfsyms *symbols, Elf *elf)
{
	struct plt plt = {0};
	u64 count, first, stub_bytes;
	Elf_Data *data;
	Elf_Scn *targets;

	plt_find(&plt, elf);
	if (!plt.relocations.sh_size || !plt.relocations.sh_entsize || !plt.stubs.sh_size)
		return 0;
	count = plt.relocations.sh_size / plt.relocations.sh_entsize;
	data = elf_getdata(plt.relocations_scn, NULL);
	targets = elf_getscn(elf, plt.relocations.sh_link);
	if (!count || !data || !targets || !plt_shape(&plt, count, &first, &stub_bytes))
		return 0;
	for (u64 i = 0; i < count; i++) {
		struct elfsym stub = {.plt = true, .rank = RANK_STUB};
		GElf_Rela relocation;

		if (!gelf_getrela(data, (int)i, &relocation))
			break;
		stub.name = relocation_target(elf, targets, &relocation);
		stub.start = first + i * stub_bytes;
		stub.end = stub.start + stub_bytes;
		if (stub.name && stub.name[0] && !vec_push(symbols, stub))
			return ERR_MEMORY;
	}
	return 0;
}

/* ---- reading ---- */

static int add_symbols(struct elfsyms *self, const struct symbol_reading *reading)
{
	int count = dwfl_module_getsymtab(reading->module);

	for (int i = 1; i < count; i++)
		if (add_symbol(self, reading, i))
			return ERR_MEMORY;
	return 0;
}

int elfsyms_read(struct elfsyms *self, Dwfl_Module *module)
{
	struct symbol_reading reading = {.module = module, .wanted = is_code};
	Elf *elf = dwfl_module_getelf(module, &reading.bias);

	if (add_symbols(self, &reading) < 0 || (elf && plt_read(self, elf)))
		return ERR_MEMORY;
	vec_sort(self, compare_symbols);
	tidy(self);
	mark_ada(self);
	return 0;
}

int elfsyms_read_data(struct elfsyms *self, Dwfl_Module *module)
{
	struct symbol_reading reading = {.module = module, .wanted = is_data};

	dwfl_module_getelf(module, &reading.bias);
	if (add_symbols(self, &reading) < 0)
		return ERR_MEMORY;
	vec_sort(self, compare_symbols);
	tidy(self);
	return 0;
}

void elfsyms_release(struct elfsyms *self)
{
	vec_release(self);
	self->has_local = false;
}

const struct elfsym *elfsyms_find(const struct elfsyms *self, u64 address)
{
	u64 low = bisect(at, self->count, self->data[at].start <= address);

	for (u32 back = 0; low > 0 && back < NESTING_MAX; back++) {
		const struct elfsym *symbol = &self->data[--low];

		if (address < symbol->end)
			return symbol;
		if (address >= symbol->reach)
			return NULL;
	}
	return NULL;
}

/* Linkers of old left the version in the names of the full table: memcpy@@GLIBC_2.14. */
static const char *without_version(const char *name, struct names *names)
{
	const char *at = strchr(name, '@');

	return at && at > name ? names_keep_bytes(names, name, (u64)(at - name)) : name;
}

const char *elfsym_readable(const struct elfsym *symbol, struct names *names)
{
	const char *readable = names_readable(names, without_version(symbol->name, names));
	struct strbuf text = {0};

	if (!symbol->plt && !symbol->ada)
		return readable;
	if (symbol->ada)
		ada_name_add(&text, symbol->name);
	else
		strbuf_addf(&text, "%s@plt", readable);
	readable = names_keep(names, strbuf_text(&text));
	strbuf_release(&text);
	return readable;
}
