/* SPDX-License-Identifier: MIT
 * Names and marks of language runtimes; see hint.h. Runs in the monitor. Never runs the program. */
#define _GNU_SOURCE
#include "monitor/hint.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

enum { SECTIONS_MAX = 4096, NAMES_MAX = 1 << 20 };

static const struct {
	const char *prefix; /* of the file name */
	bool version_only;  /* what follows must be a version: "python3.11", not "python-config" */
	enum runtime runtime;
} names[] = {
	{ "libpython", false, RUNTIME_PYTHON }, { "python", true, RUNTIME_PYTHON },
	{ "libjvm.so", false, RUNTIME_JVM },    { "libnode.so", false, RUNTIME_V8 },
	{ "libv8.so", false, RUNTIME_V8 },      { "node", true, RUNTIME_V8 },
	{ "nodejs", true, RUNTIME_V8 },         { "libphp", false, RUNTIME_PHP },
	{ "php", true, RUNTIME_PHP },
};

static const char *const hints[] = {
	[RUNTIME_NONE] = "",
	[RUNTIME_PYTHON] =
		"Python serves small objects from its own pools, of which malloc sees only "
		"the arenas: set PYTHONMALLOC=malloc to see every object",
	[RUNTIME_GO] =
		"Go programs manage their heap without malloc: only memory of C code is seen "
		"here; use Go's own runtime/pprof for the rest",
	[RUNTIME_JVM] =
		"the Java heap is not allocated with malloc: only native memory is seen here; "
		"run java with -XX:NativeMemoryTracking=summary or record a heap dump for the rest",
	[RUNTIME_V8] = "JavaScript objects live in V8's own heap: only native memory is seen here; "
		       "run node with --heap-prof for the rest",
	[RUNTIME_PHP] = "PHP serves requests from its own pools, of which malloc sees only the "
			"segments: set USE_ZEND_ALLOC=0 to see every block",
};

static bool is_version(const char *text)
{
	while (isdigit((unsigned char)*text) || *text == '.')
		text++;
	return *text == 0;
}

enum runtime runtime_of_module(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (u64 i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i].prefix);

		if (strncmp(name, names[i].prefix, length) == 0 &&
		    (!names[i].version_only || is_version(name + length)))
			return names[i].runtime;
	}
	return RUNTIME_NONE;
}

static bool read_exactly(int fd, void *bytes, u64 count, u64 offset)
{
	u64 got = 0;

	return io_read_at(fd, bytes, count, offset, &got) == 0 && got == count;
}

static bool has_go_section(const Elf64_Shdr *sections, u32 count, const char *text, u64 bytes)
{
	for (u32 i = 0; i < count; i++) {
		if (sections[i].sh_name < bytes &&
		    (strcmp(text + sections[i].sh_name, ".go.buildinfo") == 0 ||
		     strcmp(text + sections[i].sh_name, ".note.go.buildid") == 0))
			return true;
	}
	return false;
}

static bool is_go(int fd)
{
	Elf64_Ehdr header;
	Elf64_Shdr *sections = NULL;
	char *text = NULL;
	bool found = false;
	u64 bytes;

	if (!read_exactly(fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shnum > SECTIONS_MAX || header.e_shstrndx >= header.e_shnum)
		return false;
	sections = calloc(header.e_shnum, sizeof(*sections));
	if (!sections ||
	    !read_exactly(fd, sections, header.e_shnum * sizeof(*sections), header.e_shoff))
		goto done;
	bytes = sections[header.e_shstrndx].sh_size;
	if (bytes > NAMES_MAX || !(text = calloc(1, bytes + 1)) ||
	    !read_exactly(fd, text, bytes, sections[header.e_shstrndx].sh_offset))
		goto done;
	found = has_go_section(sections, header.e_shnum, text, bytes);
done:
	free(text);
	free(sections);
	return found;
}

enum runtime runtime_of_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool go;

	if (fd < 0)
		return RUNTIME_NONE;
	go = is_go(fd);
	close(fd);
	return go ? RUNTIME_GO : RUNTIME_NONE;
}

const char *runtime_hint(enum runtime runtime)
{
	return hints[runtime];
}
