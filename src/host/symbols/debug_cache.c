/* SPDX-License-Identifier: MIT
 * Copies of debug files; see debug_cache.h. Runs on the host. Nothing fails because of it: whatever
 * goes wrong, the file itself is there. A copy gets its name when it is whole, and counts only if
 * it is the user's own and has the size that the original's headers promise. */
#define _GNU_SOURCE
#include "host/symbols/debug_cache.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/order.h"
#include "host/base/vec.h"

enum { ALIGNMENT = 16, BUILD_ID_BYTES_MAX = 64, USED_SECONDS = 3600 };

/* The copy's layout: file header, program headers, sections, section headers. */
struct layout {
	Elf *elf;
	Elf64_Ehdr header;
	VEC(Elf64_Shdr) sections; /* as they are in the copy */
	u64 bytes;
	u64 inflated; /* bytes of it that are compressed in the original */
};

static u64 aligned(u64 bytes) { return (bytes + ALIGNMENT - 1) & ~(u64)(ALIGNMENT - 1); }

/* ---- layout ---------------------------------------------------------------------------------- */

static bool section_add(struct layout *self, Elf_Scn *section)
{
	const Elf64_Shdr *from = elf64_getshdr(section);
	Elf64_Shdr header;
	Elf64_Chdr *packed;

	if (!from)
		return false;
	header = *from;
	if (header.sh_flags & SHF_COMPRESSED) {
		packed = elf64_getchdr(section);
		if (!packed || packed->ch_size > DEBUG_CACHE_FILE_BYTES)
			return false;
		header.sh_flags &= ~(u64)SHF_COMPRESSED;
		header.sh_size = packed->ch_size;
		header.sh_addralign = packed->ch_addralign;
		self->inflated += packed->ch_size;
	}
	if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL) {
		header.sh_offset = self->bytes;
		if (header.sh_size > DEBUG_CACHE_FILE_BYTES)
			return false;
		self->bytes = aligned(self->bytes + header.sh_size);
	}
	return self->bytes <= DEBUG_CACHE_FILE_BYTES && vec_push(&self->sections, header);
}

/* False if the file is none that is copied. */
static bool layout_make(struct layout *self)
{
	const Elf64_Ehdr *header =
		elf_kind(self->elf) == ELF_K_ELF ? elf64_getehdr(self->elf) : NULL;
	const char *ident = elf_getident(self->elf, NULL);
	size_t count;

	if (!header ||
	    ident[EI_DATA] !=
		    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) ||
	    elf_getshdrnum(self->elf, &count) < 0 || elf_getphdrnum(self->elf, &(size_t){0}) < 0)
		return false;
	self->header = *header;
	self->bytes = sizeof(*header) + (u64)header->e_phnum * sizeof(Elf64_Phdr);
	for (size_t i = 0; i < count; i++) {
		Elf_Scn *section = elf_getscn(self->elf, i);

		if (!section || !section_add(self, section))
			return false;
	}
	self->header.e_phoff = header->e_phnum ? sizeof(*header) : 0;
	self->header.e_shoff = self->bytes;
	self->bytes += count * sizeof(Elf64_Shdr);
	return self->inflated >= DEBUG_CACHE_WORTH_BYTES;
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Root must not leave folders of its own where another user's are. */
static bool is_ours(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 || status.st_uid == geteuid();
}

static bool folder_make(struct strbuf *folder)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct stat status;

	if (!io_user_folder("XDG_CACHE_HOME", ".cache", folder) ||
	    !is_ours(cache && cache[0] == '/' ? cache : home))
		return false;
	strbuf_add(folder, "/heapwise/debug");
	if (folder->failed || io_make_folder(strbuf_text(folder), 0700, NULL) < 0)
		return false;
	/* What others can write is not believed. */
	return stat(strbuf_text(folder), &status) == 0 && status.st_uid == geteuid() &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH));
}

struct kept {
	i64 used; /* seconds; first: what it is sorted by */
	u64 bytes;
	char name[256];
};

static int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return rising(x->used, y->used);
}

/* Removes what was not used for longest. */
static void folder_trim(const char *path)
{
	VEC(struct kept) files = {0};
	DIR *folder = opendir(path);
	struct dirent *entry;
	u64 bytes = 0;

	while (folder && (entry = readdir(folder))) {
		struct kept kept = {0};
		struct stat status;

		if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		kept.used = status.st_mtime;
		kept.bytes = (u64)status.st_size;
		memcpy(kept.name, entry->d_name, strlen(entry->d_name) + 1);
		bytes += kept.bytes;
		if (!vec_push(&files, kept))
			break;
	}
	vec_sort(&files, compare_kept);
	for (u64 i = 0; i < files.count && bytes > DEBUG_CACHE_BYTES; i++) {
		unlinkat(dirfd(folder), files.data[i].name, 0);
		bytes -= files.data[i].bytes;
	}
	vec_release(&files);
	if (folder)
		closedir(folder);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool copy_path(const struct layout *self, const char *folder, struct strbuf *path)
{
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(self->elf, &id);

	if (bytes < 8 || bytes > BUILD_ID_BYTES_MAX)
		return false;
	strbuf_addf(path, "%s/", folder);
	for (ssize_t i = 0; i < bytes; i++)
		strbuf_addf(path, "%02x", ((const u8 *)id)[i]);
	return !path->failed;
}

static int copy_open(const struct layout *self, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	Elf64_Ehdr header;
	u64 got;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    (u64)status.st_size == self->bytes &&
	    io_read_at(fd, &header, sizeof(header), 0, &got) == 0 && got == sizeof(header) &&
	    memcmp(&header, &self->header, sizeof(header)) == 0) {
		if (time(NULL) - status.st_mtime > USED_SECONDS)
			futimens(fd, NULL);
		return fd;
	}
	close(fd);
	return -1;
}

static bool write_at(int fd, const void *bytes, u64 count, u64 offset)
{
	return lseek(fd, (off_t)offset, SEEK_SET) >= 0 && io_write_all(fd, bytes, count, NULL) == 0;
}

static bool section_write(const struct layout *self, int fd, u64 number)
{
	const Elf64_Shdr *to = &self->sections.data[number];
	Elf_Scn *section = elf_getscn(self->elf, number);
	bool packed = elf64_getshdr(section)->sh_flags & SHF_COMPRESSED;
	Elf_Data *data;

	if (to->sh_type == SHT_NOBITS || to->sh_type == SHT_NULL || !to->sh_size)
		return true;
	if (packed && elf_compress(section, 0, 0) < 0)
		return false;
	data = packed ? elf_getdata(section, NULL) : elf_rawdata(section, NULL);
	return data && data->d_buf && data->d_size == to->sh_size &&
	       write_at(fd, data->d_buf, data->d_size, to->sh_offset);
}

static bool copy_write(const struct layout *self, int fd)
{
	const Elf64_Phdr *programs = elf64_getphdr(self->elf);
	bool good = write_at(fd, &self->header, sizeof(self->header), 0) &&
		    write_at(fd, self->sections.data, self->sections.count * sizeof(Elf64_Shdr),
			     self->header.e_shoff);

	if (good && self->header.e_phnum)
		good = programs && write_at(fd, programs, self->header.e_phnum * sizeof(*programs),
					    self->header.e_phoff);
	for (u64 i = 0; i < self->sections.count && good; i++)
		good = section_write(self, fd, i);
	return good;
}

static int copy_make(const struct layout *self, const char *folder, const char *path)
{
	struct strbuf fresh = {0};
	char *name;
	int fd;

	strbuf_addf(&fresh, "%s.XXXXXX", path);
	name = strbuf_take(&fresh);
	fd = name ? mkostemp(name, O_CLOEXEC) : -1;
	if (fd >= 0 && (!copy_write(self, fd) || rename(name, path) < 0)) {
		unlink(name);
		close(fd);
		fd = -1;
	}
	free(name);
	if (fd >= 0)
		folder_trim(folder);
	return fd;
}

int debug_cache_swap(int fd)
{
	struct strbuf folder = {0}, path = {0};
	struct layout layout = {0};
	int copy = -1;

	elf_version(EV_CURRENT);
	layout.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (layout.elf && layout_make(&layout) && folder_make(&folder) &&
	    copy_path(&layout, strbuf_text(&folder), &path)) {
		copy = copy_open(&layout, strbuf_text(&path));
		if (copy < 0)
			copy = copy_make(&layout, strbuf_text(&folder), strbuf_text(&path));
	}
	elf_end(layout.elf);
	vec_release(&layout.sections);
	strbuf_release(&folder);
	strbuf_release(&path);
	if (copy < 0)
		return fd;
	close(fd);
	return copy;
}
