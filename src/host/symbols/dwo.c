/* SPDX-License-Identifier: MIT
 * Joins the sections of a split debug file in memory.
 * Host. References inside a unit are relative to it and types are found by their signatures, so
 * units may be put one after the other as they are. */
#include "host/symbols/dwo.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"

enum { KINDS_MAX = 24 };
#define IMAGE_BYTES_MAX (1ull << 30)

/* Sections of one name. */
struct kind {
	const char *name;
	u32 count;
	u64 offset, bytes; /* in the image */
	u32 name_offset;
};

struct joint {
	Elf *elf;
	struct kind kinds[KINDS_MAX];
	u32 count;
};

bool dwo_path(Dwarf_Die *skeleton, struct strbuf *path)
{
	Dwarf_Attribute attribute;
	const char *name, *folder;

	name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &attribute));
	if (!name)
		name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute));
	if (!name)
		return false;
	folder = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &attribute));
	strbuf_clear(path);
	if (name[0] != '/' && folder)
		strbuf_addf(path, "%s/", folder);
	strbuf_add(path, name);
	return !path->failed;
}

static bool has_suffix(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".dwo") == 0;
}

/* The name of a section that counts, NULL for others. */
static const char *section_name(Elf *elf, Elf_Scn *section)
{
	GElf_Shdr header;
	size_t names;
	const char *name;

	if (elf_getshdrstrndx(elf, &names) != 0 || !gelf_getshdr(section, &header))
		return NULL;
	name = elf_strptr(elf, names, header.sh_name);
	return name && has_suffix(name) ? name : NULL;
}

static void count_kinds(struct joint *self)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(self->elf, section)) != NULL;) {
		const char *name = section_name(self->elf, section);
		u32 i = 0;

		if (!name)
			continue;
		while (i < self->count && strcmp(self->kinds[i].name, name) != 0)
			i++;
		if (i == KINDS_MAX)
			continue;
		self->kinds[i].name = name;
		self->kinds[i].count++;
		self->count += i == self->count;
	}
}

static bool is_scattered(const struct joint *self)
{
	for (u32 i = 0; i < self->count; i++)
		if (self->kinds[i].count > 1)
			return true;
	return false;
}

/* Appends all sections of a name. */
static bool add_kind(struct joint *self, struct kind *kind, struct strbuf *image)
{
	kind->offset = image->count;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(self->elf, section)) != NULL;) {
		const char *name = section_name(self->elf, section);
		const Elf_Data *data;
		GElf_Shdr header;

		if (!name || strcmp(name, kind->name) != 0)
			continue;
		if (!gelf_getshdr(section, &header) ||
		    ((header.sh_flags & SHF_COMPRESSED) && elf_compress(section, 0, 0) < 0))
			return false;
		data = elf_rawdata(section, NULL);
		if (!data || image->count + data->d_size > IMAGE_BYTES_MAX)
			return false;
		strbuf_add_bytes(image, data->d_buf, data->d_size);
	}
	kind->bytes = image->count - kind->offset;
	return true;
}

static void pad(struct strbuf *image)
{
	while (image->count % 8)
		strbuf_add_char(image, 0);
}

static void add_header(struct strbuf *image, u32 name, u32 type, u64 offset, u64 bytes)
{
	Elf64_Shdr header = {.sh_name = name,
			     .sh_type = type,
			     .sh_offset = offset,
			     .sh_size = bytes,
			     .sh_addralign = 1};

	strbuf_add_bytes(image, &header, sizeof header);
}

/* Names of sections, then the table of sections; fills the file's header. */
static void finish_image(struct joint *self, struct strbuf *image, Elf64_Ehdr *header)
{
	u64 names = image->count, names_bytes;

	strbuf_add_char(image, 0);
	for (u32 i = 0; i < self->count; i++) {
		self->kinds[i].name_offset = (u32)(image->count - names);
		strbuf_add_bytes(image, self->kinds[i].name, strlen(self->kinds[i].name) + 1);
	}
	names_bytes = image->count - names;
	pad(image);
	header->e_shoff = image->count;
	header->e_shnum = (u16)(self->count + 2);
	header->e_shstrndx = (u16)(self->count + 1);
	add_header(image, 0, SHT_NULL, 0, 0);
	for (u32 i = 0; i < self->count; i++)
		add_header(image, self->kinds[i].name_offset, SHT_PROGBITS, self->kinds[i].offset,
			   self->kinds[i].bytes);
	add_header(image, 0, SHT_STRTAB, names, names_bytes);
	if (!image->failed)
		memcpy(image->text, header, sizeof *header);
}

static bool join(struct joint *self, struct strbuf *image)
{
	const Elf64_Ehdr *old = elf64_getehdr(self->elf);
	Elf64_Ehdr header;

	count_kinds(self);
	if (!old || !is_scattered(self))
		return false;
	header = (Elf64_Ehdr){.e_type = ET_REL,
			      .e_machine = old->e_machine,
			      .e_version = EV_CURRENT,
			      .e_ehsize = sizeof header,
			      .e_shentsize = sizeof(Elf64_Shdr)};
	memcpy(header.e_ident, old->e_ident, sizeof header.e_ident);
	strbuf_add_bytes(image, &header, sizeof header);
	for (u32 i = 0; i < self->count; i++) {
		if (!add_kind(self, &self->kinds[i], image))
			return false;
		pad(image);
	}
	finish_image(self, image, &header);
	return !image->failed;
}

/* Structures are copied as they are, so only files of this machine's class and byte order count. */
static bool is_native(Elf *elf)
{
	size_t bytes;
	const char *ident = elf_getident(elf, &bytes);

	return ident && bytes >= EI_NIDENT && elf_kind(elf) == ELF_K_ELF &&
	       ident[EI_CLASS] == ELFCLASS64 &&
	       ident[EI_DATA] ==
		       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
}

bool dwo_open(struct dwo *self, const char *path)
{
	struct stat about;
	int fd = io_open_regular(path, &about);
	struct joint joint = {0};
	bool joined = false;

	*self = (struct dwo){0};
	if (fd < 0)
		return false;
	joint.elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (joint.elf && is_native(joint.elf))
		joined = join(&joint, &self->image);
	elf_end(joint.elf);
	close(fd);
	if (joined)
		self->elf = elf_memory(self->image.text, self->image.count);
	if (self->elf)
		self->dwarf = dwarf_begin_elf(self->elf, DWARF_C_READ, NULL);
	if (!self->dwarf)
		dwo_close(self);
	return self->dwarf != NULL;
}

void dwo_close(struct dwo *self)
{
	if (self->dwarf)
		dwarf_end(self->dwarf);
	elf_end(self->elf);
	strbuf_release(&self->image);
	*self = (struct dwo){0};
}
