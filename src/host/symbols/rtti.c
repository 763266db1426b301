/* SPDX-License-Identifier: MIT
 * Reads classes out of vtables and type_info objects (Itanium C++ ABI).
 * Runs on the host. Believes nothing that a file says: whatever does not fit is no class. */
#include "host/symbols/rtti.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/err.h"
#include "host/base/order.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/symbols/demangle.h"
#include "host/symbols/type_symbols.h"

enum {
	NAME_MAX_BYTES = 4096,
	OFFSET_MAX = 1 << 24, /* from a part of an object to its start */
};

/* ---- what the loader does -------------------------------------------------------------------- */

static bool is_relative(u32 machine, u64 type)
{
	return machine == EM_X86_64 ? type == R_X86_64_RELATIVE : type == R_AARCH64_RELATIVE;
}

static bool is_address(u32 machine, u64 type)
{
	return machine == EM_X86_64 ? type == R_X86_64_64 : type == R_AARCH64_ABS64;
}

/* Large libraries have a million, so they are read in place; libelf has turned them into the
 * structures of this machine. */
static int add_relocations(struct rtti *self, Elf_Scn *section, const GElf_Shdr *header,
			   u32 machine)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const Elf64_Rela *relas = data && data->d_type == ELF_T_RELA ? data->d_buf : NULL;
	Elf_Scn *symbols = elf_getscn(self->elf, header->sh_link);
	Elf_Data *table = symbols ? elf_getdata(symbols, NULL) : NULL;
	GElf_Shdr table_header;
	GElf_Sym symbol;

	if (!symbols || !gelf_getshdr(symbols, &table_header))
		table = NULL;
	for (u64 i = 0; relas && i < data->d_size / sizeof(*relas); i++) {
		u64 type = ELF64_R_TYPE(relas[i].r_info), number = ELF64_R_SYM(relas[i].r_info);
		struct rtti_word word = {relas[i].r_offset, (u64)relas[i].r_addend, NULL};

		if (!is_relative(machine, type)) {
			if (!is_address(machine, type) || !table || number > INT32_MAX ||
			    !gelf_getsym(table, (int)number, &symbol))
				continue;
			word.value += symbol.st_value;
			word.symbol = elf_strptr(self->elf, table_header.sh_link, symbol.st_name);
		}
		if (self->ordered_count == self->count &&
		    (!self->count || self->data[self->count - 1].at <= word.at))
			self->ordered_count++;
		if (!vec_push(self, word))
			return ERR_MEMORY;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct rtti_word *x = a, *y = b;

	return rising(x->at, y->at);
}

/* Linkers put those that name no symbol first, in order, and they are nearly all. */
static void sort_rest(struct rtti *self)
{
	u64 rest = self->count - self->ordered_count;

	if (rest)
		qsort(self->data + self->ordered_count, rest, sizeof(*self->data), compare);
}

int rtti_read(struct rtti *self, Dwfl_Module *module)
{
	GElf_Addr bias;

	return rtti_read_elf(self, dwfl_module_getelf(module, &bias));
}

int rtti_read_elf(struct rtti *self, Elf *elf)
{
	GElf_Ehdr header;
	Elf_Scn *section = NULL;

	self->read = true;
	self->elf = elf;
	if (!self->elf || !gelf_getehdr(self->elf, &header) ||
	    gelf_getclass(self->elf) != ELFCLASS64 ||
	    (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64)) {
		self->elf = NULL;
		return 0;
	}
	while ((section = elf_nextscn(self->elf, section))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(section, &shdr) && shdr.sh_type == SHT_RELA &&
		    shdr.sh_flags & SHF_ALLOC &&
		    add_relocations(self, section, &shdr, header.e_machine))
			return ERR_MEMORY;
	}
	sort_rest(self);
	return 0;
}

void rtti_release(struct rtti *self)
{
	vec_release(self);
	self->elf = NULL;
	self->ordered_count = 0;
	self->read = false;
}

/* ---- memory as it would be ------------------------------------------------------------------- */

/* Copies up to `bytes` that the file has for the address; returns how many. */
static u64 file_bytes(const struct rtti *self, u64 address, void *to, u64 bytes)
{
	size_t count = 0;

	if (elf_getphdrnum(self->elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;
		Elf_Data *data;

		if (!gelf_getphdr(self->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		if (bytes > segment.p_filesz - (address - segment.p_vaddr))
			bytes = segment.p_filesz - (address - segment.p_vaddr);
		data = elf_getdata_rawchunk(self->elf,
					    (int64_t)(segment.p_offset +
						      (address - segment.p_vaddr)),
					    bytes, ELF_T_BYTE);
		if (!data || !data->d_buf || data->d_size < bytes)
			return 0;
		memcpy(to, data->d_buf, bytes);
		return bytes;
	}
	return 0;
}

static const struct rtti_word *find_among(const struct rtti_word *words, u64 count, u64 address)
{
	const struct rtti_word key = {.at = address};

	return count ? bsearch(&key, words, count, sizeof(key), compare) : NULL;
}

/* A word without a relocation of its own is as the file has it (packed relocations leave it
 * there). */
static bool word_at(const struct rtti *self, u64 address, struct rtti_word *word)
{
	u64 ordered = self->ordered_count;
	const struct rtti_word *found = find_among(self->data, ordered, address);

	if (!found && ordered < self->count)
		found = find_among(self->data + ordered, self->count - ordered, address);
	*word = found ? *found : (struct rtti_word){.at = address};
	return found || file_bytes(self, address, &word->value, 8) == 8;
}

static char *class_of_name(const char *prefix, const char *name)
{
	struct strbuf text = {0};
	char *class;

	strbuf_addf(&text, "%s%s", prefix, name);
	class = type_of_symbol(strbuf_text(&text));
	strbuf_release(&text);
	return class;
}

/* Names begin with '*' if they are to be compared by address. */
static char *class_at(const struct rtti *self, u64 address)
{
	char name[NAME_MAX_BYTES];
	u64 bytes = file_bytes(self, address, name, sizeof(name));

	if (!bytes || !memchr(name, 0, bytes) || !name[0])
		return NULL;
	return class_of_name("_ZTS", name + (name[0] == '*'));
}

char *rtti_class(const struct rtti *self, u64 address)
{
	struct rtti_word to_top, info, name;

	if (!self->elf || address % 8 || address < 16 || !word_at(self, address - 16, &to_top) ||
	    to_top.symbol || to_top.value + OFFSET_MAX > 2 * OFFSET_MAX ||
	    !word_at(self, address - 8, &info))
		return NULL;
	if (info.symbol && strncmp(info.symbol, "_ZTI", 4) == 0)
		return class_of_name("", info.symbol);
	if (!info.value || info.value % 8 || !word_at(self, info.value + 8, &name))
		return NULL;
	if (name.symbol && strncmp(name.symbol, "_ZTS", 4) == 0)
		return class_of_name("", name.symbol);
	return class_at(self, name.value);
}
