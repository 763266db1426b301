/* SPDX-License-Identifier: MIT
 * Reads program headers, notes and names of the dynamic section; see executable.h. Runs in the
 * monitor. Trusts no number of the file. */
#include "live/program/executable.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "format/shadow.h"

enum { SEGMENTS_MAX = 1024, DYNAMIC_MAX = 65536, NOTES_MAX = 65536, NAMES_MAX = 64 << 20 };

struct segments {
	Elf64_Phdr *data;
	u32 count;
	/* the system did not let us look; else, without data, it is no executable of ours */
	bool unread;
};

static bool read_exactly(int fd, void *bytes, u64 count, u64 offset)
{
	u64 got = 0;

	return io_read_at(fd, bytes, count, offset, &got) == 0 && got == count;
}

static bool segments_read(struct segments *self, int fd)
{
	Elf64_Ehdr header;
	u64 got = 0;

	*self = (struct segments){.unread = true};
	if (io_read_at(fd, &header, sizeof(header), 0, &got) != 0)
		return false;
	self->unread = false;
	if (got != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > SEGMENTS_MAX)
		return false;
	self->data = calloc(header.e_phnum + 1u, sizeof(*self->data));
	self->count = header.e_phnum;
	if (self->data && io_read_at(fd, self->data, self->count * sizeof(*self->data),
				     header.e_phoff, &got) == 0) {
		if (got == self->count * sizeof(*self->data))
			return true;
	} else {
		self->unread = true;
	}
	free(self->data);
	return false;
}

static const Elf64_Phdr *segment_find(const struct segments *self, u32 type)
{
	for (u32 i = 0; i < self->count; i++)
		if (self->data[i].p_type == type)
			return &self->data[i];
	return NULL;
}

/* Where in the file an address is; 0 if nowhere. */
static u64 offset_of(const struct segments *self, u64 address)
{
	for (u32 i = 0; i < self->count; i++) {
		const Elf64_Phdr *s = &self->data[i];

		if (s->p_type == PT_LOAD && address - s->p_vaddr < s->p_filesz)
			return s->p_offset + (address - s->p_vaddr);
	}
	return 0;
}

bool executable_loader(int fd, char *path, u64 room)
{
	struct segments segments;
	const Elf64_Phdr *interpreter;
	bool found;

	path[0] = 0;
	if (!segments_read(&segments, fd))
		return segments.unread;
	interpreter = segment_find(&segments, PT_INTERP);
	found = interpreter != NULL;
	if (found && interpreter->p_filesz < room &&
	    read_exactly(fd, path, interpreter->p_filesz, interpreter->p_offset))
		path[interpreter->p_filesz] = 0;
	else
		path[0] = 0;
	free(segments.data);
	return found;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Whether one of the notes in these bytes is ours and of this type; *content receives what it
 * says. */
static bool has_note(const u8 *bytes, u64 count, u32 type, u32 *content)
{
	while (count >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		u64 name, size;

		memcpy(&note, bytes, sizeof(note));
		name = (note.n_namesz + 3ull) & ~3ull;
		size = sizeof(note) + name + ((note.n_descsz + 3ull) & ~3ull);
		if (size > count)
			return false;
		if (note.n_type == type && note.n_namesz == sizeof(HW_NOTE_NAME) &&
		    note.n_descsz == sizeof(*content) &&
		    memcmp(bytes + sizeof(note), HW_NOTE_NAME, sizeof(HW_NOTE_NAME)) == 0) {
			memcpy(content, bytes + sizeof(note) + name, sizeof(*content));
			return true;
		}
		bytes += size;
		count -= size;
	}
	return false;
}

static bool segment_has_note(int fd, const Elf64_Phdr *segment, u32 type, u32 *content)
{
	u64 count = segment->p_filesz < NOTES_MAX ? segment->p_filesz : NOTES_MAX, got = 0;
	u8 *bytes = malloc(count ? count : 1);
	bool found;

	found = bytes && io_read_at(fd, bytes, count, segment->p_offset, &got) == 0 &&
		has_note(bytes, got, type, content);
	free(bytes);
	return found;
}

bool executable_has_note(int fd, u32 type, u32 *content)
{
	struct segments segments;
	bool found = false;

	if (!segments_read(&segments, fd))
		return false;
	for (u32 i = 0; i < segments.count && !found; i++)
		found = segments.data[i].p_type == PT_NOTE &&
			segment_has_note(fd, &segments.data[i], type, content);
	free(segments.data);
	return found;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* All names of the dynamic section, one after the other; NULL if there are none. */
static char *names_read(int fd, u64 *bytes)
{
	struct segments segments;
	const Elf64_Phdr *dynamic;
	Elf64_Dyn *entries = NULL;
	u64 at = 0, size = 0;
	char *names = NULL;

	if (!segments_read(&segments, fd))
		return NULL;
	dynamic = segment_find(&segments, PT_DYNAMIC);
	if (dynamic && dynamic->p_filesz <= DYNAMIC_MAX &&
	    (entries = malloc(dynamic->p_filesz + 1)) &&
	    read_exactly(fd, entries, dynamic->p_filesz, dynamic->p_offset))
		for (u64 i = 0; i < dynamic->p_filesz / sizeof(*entries); i++) {
			if (entries[i].d_tag == DT_STRTAB)
				at = offset_of(&segments, entries[i].d_un.d_ptr);
			if (entries[i].d_tag == DT_STRSZ)
				size = entries[i].d_un.d_val;
		}
	if (at && size && size <= NAMES_MAX && (names = calloc(1, size + 1)) &&
	    !read_exactly(fd, names, size, at)) {
		free(names);
		names = NULL;
	}
	*bytes = size;
	free(entries);
	free(segments.data);
	return names;
}

static bool is_sanitizer(const char *name)
{
	static const char *const starts[] = {"libasan.so",       "libtsan.so",
					     "liblsan.so",       "libhwasan.so",
					     "libclang_rt.asan", "libclang_rt.tsan"};
	static const char *const wholes[] = {"__asan_init", "__tsan_init", "__msan_init",
					     "__hwasan_init", "__lsan_init"};

	for (u32 i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	for (u32 i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++)
		if (strcmp(name, wholes[i]) == 0)
			return true;
	return false;
}

bool executable_has_sanitizer(int fd)
{
	u64 bytes = 0;
	char *names = names_read(fd, &bytes);
	bool found = false;

	for (u64 at = 0; names && at < bytes && !found; at += strlen(names + at) + 1)
		found = is_sanitizer(names + at);
	free(names);
	return found;
}
