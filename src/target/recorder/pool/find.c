/* SPDX-License-Identifier: MIT
 * Finds functions by name in a module's dynamic symbols, and in the symbol table of its file, which
 * a file that was not stripped has; see find.h. Runs in the target: the file is mapped, and nothing
 * in it is believed before it was compared with the file's size. */
#include "target/recorder/pool/find.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "target/recorder/state/memory.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/sys.h"

static const char own_path[] = "/proc/self/exe";

struct file {
	const u8 *data;
	u64 bytes;
};

struct search {
	const struct hw_pool *pools;
	u32 count;
	u64 base;
	void (*found)(u32 number, u64 start, u64 bytes);
	void (*each)(const char *name, u64 start); /* instead of the pools */
	u32 section;                               /* type of the table: SHT_SYMTAB or SHT_DYNSYM */
	void (*global)(const char *name, u64 start, u64 bytes);
};

static bool file_map(struct file *self, const char *path)
{
	int fd = hwr_open(path, O_RDONLY | O_CLOEXEC);
	long bytes = fd < 0 ? -1 : hwr_ask3(SYS_lseek, fd, 0, SEEK_END);

	*self = (struct file){NULL, 0};
	if (bytes > (long)sizeof(ElfW(Ehdr))) {
		self->data = hwr_mmap((size_t)bytes, PROT_READ, MAP_PRIVATE, fd);
		self->bytes = (u64)bytes;
	}
	if (fd >= 0)
		hwr_close(fd);
	if (self->data && hwr_sys_failed(self->data))
		self->data = NULL;
	return self->data != NULL;
}

static const void *file_at(const struct file *self, u64 offset, u64 bytes)
{
	return offset <= self->bytes && bytes <= self->bytes - offset ? self->data + offset : NULL;
}

static const ElfW(Shdr) * file_section(const struct file *self, u64 number)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)self->data;

	if (number >= header->e_shnum || header->e_shentsize != sizeof(ElfW(Shdr)))
		return NULL;
	return file_at(self, header->e_shoff + number * sizeof(ElfW(Shdr)), sizeof(ElfW(Shdr)));
}

static bool memory_has_end(const char *name, u64 room)
{
	while (room && *name) {
		name++;
		room--;
	}
	return room != 0;
}

static void try_symbol(const struct search *self, const ElfW(Sym) * symbol, const char *name,
		       u64 room)
{
	if (self->each && memory_has_end(name, room))
		self->each(name, self->base + symbol->st_value);
	if (self->global && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	    memory_has_end(name, room))
		self->global(name, self->base + symbol->st_value, symbol->st_size);
	for (u32 i = 0; i < self->count; i++) {
		size_t bytes = hwr_length(self->pools[i].name) + 1;

		if (name[0] == self->pools[i].name[0] && bytes <= room &&
		    hwr_same(name, self->pools[i].name, bytes))
			self->found(i, self->base + symbol->st_value, symbol->st_size);
	}
}

static void search_table(const struct search *self, const struct file *file,
			 const ElfW(Shdr) * section)
{
	const ElfW(Shdr) *strings = file_section(file, section->sh_link);
	const ElfW(Sym) *symbols = file_at(file, section->sh_offset, section->sh_size);
	const char *names = strings ? file_at(file, strings->sh_offset, strings->sh_size) : NULL;

	if (!symbols || !names)
		return;
	for (u64 i = 0; i < section->sh_size / sizeof *symbols; i++) {
		const ElfW(Sym) *symbol = &symbols[i];

		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
		    symbol->st_name < strings->sh_size)
			try_symbol(self, symbol, names + symbol->st_name,
				   strings->sh_size - symbol->st_name);
	}
}

/* False: it has no such table. */
static bool search_file(const struct search *self, const char *path)
{
	const ElfW(Ehdr) * header;
	bool searched = false;
	struct file file;

	if (!file_map(&file, path))
		return false;
	header = (const ElfW(Ehdr) *)file.data;
	for (u32 i = 0; hwr_same(header->e_ident, ELFMAG, SELFMAG) && i < header->e_shnum; i++) {
		const ElfW(Shdr) *section = file_section(&file, i);

		if (section && section->sh_type == self->section) {
			search_table(self, &file, section);
			searched = true;
		}
	}
	hwr_munmap((void *)(u64)file.data, file.bytes);
	return searched;
}

void hwr_find_pools(const struct link_map *map, const struct hw_pool *pools, u32 count,
		    void (*found)(u32 number, u64 start, u64 bytes))
{
	struct search search = {pools, count, map->l_addr, found, NULL, SHT_SYMTAB, NULL};
	u64 start, bytes;

	for (u32 i = 0; i < count; i++)
		if (hwr_real_function_in(map, pools[i].name, &start, &bytes))
			found(i, start, bytes);
	search_file(&search, map->l_name && map->l_name[0] ? map->l_name : own_path);
}

void hwr_find_each(const char *path, u64 base, void (*found)(const char *name, u64 start))
{
	struct search search = {.base = base, .each = found, .section = SHT_SYMTAB};

	search_file(&search, *path ? path : own_path);
	search.section = SHT_DYNSYM; /* all that a stripped file has */
	search_file(&search, *path ? path : own_path);
}

bool hwr_find_global(u64 base, void (*found)(const char *name, u64 start, u64 bytes))
{
	struct search search = {.base = base, .global = found, .section = SHT_SYMTAB};

	return search_file(&search, own_path);
}
