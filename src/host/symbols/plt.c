/* SPDX-License-Identifier: MIT
 * Pairs the stubs of .plt and .plt.sec with the relocations that fill their slots: linkers emit
 * both in the same order.
 * Runs on the host. Never disassembles: a table that does not divide evenly into stubs of a known
 * size is left alone. */
#include "host/symbols/plt.h"

#include <string.h>

#include "host/base/err.h"
#include "host/base/vec.h"

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
	static const u64 header_bytes[] = { 16, 32, 0 };

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

int plt_read(struct elfsyms *symbols, Elf *elf)
{
	struct plt plt = { 0 };
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
		struct elfsym stub = { .plt = true, .rank = RANK_STUB };
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
