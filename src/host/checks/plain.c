/* SPDX-License-Identifier: MIT
 * Looks into objects and archives; see plain.h. Host. Files are input from strangers: all their
 * numbers are bounded by their size. */
#define _GNU_SOURCE
#include "host/checks/plain.h"

#include <ar.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/parts.h"
#include "host/checks/listing.h"

#define THIN "!<thin>\n" /* members are files of their own */

/* ---- objects ---- */

static bool has(struct piece file, const char *text)
{
	return memmem(file.at, file.bytes, text, strlen(text));
}

static bool is_checked(struct piece object)
{
	return has(object, "-fsanitize=kernel-address") || has(object, "asan.module_ctor") ||
	       has(object, "__asan_report_");
}

/* Code for the CPU, or that which gcc makes code of when it links. */
static bool elf_has_code(struct piece object)
{
	Elf64_Ehdr head;
	Elf64_Shdr section;

	if (object.bytes < sizeof(head))
		return false;
	memcpy(&head, object.at, sizeof(head));
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_type != ET_REL ||
	    head.e_shentsize != sizeof(section) || head.e_shoff > object.bytes)
		return false;
	for (u64 i = 0;
	     i < head.e_shnum && (i + 1) * sizeof(section) <= object.bytes - head.e_shoff; i++) {
		memcpy(&section, object.at + head.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type == SHT_PROGBITS && section.sh_flags & SHF_EXECINSTR &&
		    section.sh_size)
			return true;
	}
	return has(object, ".gnu.lto_");
}

static bool has_code(struct piece object)
{
	return piece_starts(object, ELFMAG) ? elf_has_code(object)
					    : piece_starts(object, "BC\xc0\xde");
}

static bool is_plain(struct piece object) { return has_code(object) && !is_checked(object); }

/* ---- archives ---- */

struct archive {
	const char *path;
	struct piece rest, names;
	bool thin;
};

struct member {
	struct ar_hdr head;
	struct piece content;
	bool special; /* a table of symbols or names */
};

static bool archive_next(struct archive *self, struct member *member)
{
	char size[sizeof(member->head.ar_size) + 1] = "";
	u64 bytes;

	if (self->rest.bytes < sizeof(member->head))
		return false;
	memcpy(&member->head, self->rest.at, sizeof(member->head));
	self->rest = (struct piece){self->rest.at + sizeof(member->head),
				    self->rest.bytes - sizeof(member->head)};
	if (memcmp(member->head.ar_fmag, ARFMAG, sizeof(member->head.ar_fmag)) != 0)
		return false;
	memcpy(size, member->head.ar_size, sizeof(member->head.ar_size));
	bytes = strtoull(size, NULL, 10);
	member->special = member->head.ar_name[0] == '/' &&
			  (member->head.ar_name[1] < '0' || member->head.ar_name[1] > '9');
	if (self->thin && !member->special)
		bytes = 0;
	if (bytes > self->rest.bytes)
		return false;
	member->content = (struct piece){self->rest.at, bytes};
	bytes += bytes % 2 && bytes < self->rest.bytes;
	self->rest = (struct piece){self->rest.at + bytes, self->rest.bytes - bytes};
	if (memcmp(member->head.ar_name, "// ", 3) == 0)
		self->names = member->content;
	return true;
}

static bool file_is_plain(const char *path, bool is_member);

/* Names of files are relative to the archive's folder. */
static bool thin_is_plain(const struct archive *self, const struct member *member)
{
	u64 at = strtoull(member->head.ar_name + 1, NULL, 10), bytes = 0;
	const char *slash = strrchr(self->path, '/');
	char path[PARTS_PATH];

	if (at >= self->names.bytes)
		return false;
	while (at + bytes < self->names.bytes && self->names.at[at + bytes] != '\n')
		bytes++;
	bytes -= bytes && self->names.at[at + bytes - 1] == '/';
	snprintf(path, sizeof(path), "%.*s%.*s",
		 slash && self->names.at[at] != '/' ? (int)(slash + 1 - self->path) : 0, self->path,
		 (int)bytes, self->names.at + at);
	return file_is_plain(path, true);
}

static bool archive_is_plain(struct archive *self)
{
	struct member member;

	while (archive_next(self, &member))
		if (!member.special &&
		    (self->thin ? thin_is_plain(self, &member) : is_plain(member.content)))
			return true;
	return false;
}

/* ---- files ---- */

/* Members of archives are no archives. */
static bool content_is_plain(const char *path, struct piece file, bool is_member)
{
	struct archive archive = {.path = path, .thin = piece_starts(file, THIN)};

	if (is_member || (!archive.thin && !piece_starts(file, ARMAG)))
		return is_plain(file);
	archive.rest = (struct piece){file.at + SARMAG, file.bytes - SARMAG};
	return archive_is_plain(&archive);
}

static bool file_is_plain(const char *path, bool is_member)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	bool plain = false;
	void *file;

	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
		file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			plain = content_is_plain(path, (struct piece){file, (u64)status.st_size},
						 is_member);
			munmap(file, (size_t)status.st_size);
		}
	}
	close(fd);
	return plain;
}

bool plain_is_linked(const char *path) { return file_is_plain(path, false); }
