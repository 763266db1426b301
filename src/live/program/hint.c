/* SPDX-License-Identifier: MIT
 * Names and marks of language runtimes; see hint.h. Runs in the monitor. Never runs the program. */
#define _GNU_SOURCE
#include "live/program/hint.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"

enum { SECTIONS_MAX = 4096, NAMES_MAX = 1 << 20, SYMBOLS_MAX = 1 << 28 /* bytes */ };

static const struct {
	const char *prefix; /* of the file name */
	bool version_only;  /* what follows must be a version: "python3.11", not "python-config" */
	enum runtime runtime;
} names[] = {
	{"libpython", false, RUNTIME_PYTHON}, {"python", true, RUNTIME_PYTHON},
	{"libjvm.so", false, RUNTIME_JVM},    {"libnode.so", false, RUNTIME_V8},
	{"libv8.so", false, RUNTIME_V8},      {"node", true, RUNTIME_V8},
	{"nodejs", true, RUNTIME_V8},         {"libphp", false, RUNTIME_PHP},
	{"php", true, RUNTIME_PHP},           {"libgc.so", false, RUNTIME_BOEHM},
};

static const char *const hints[] = {
	[RUNTIME_NONE] = "",
	[RUNTIME_PYTHON] =
		"Python allocates small objects from its own pools, and malloc sees only the "
		"arenas; set PYTHONMALLOC=malloc to record every object",
	[RUNTIME_GO] = "Go programs manage their heap without malloc, so only memory of C code is "
		       "recorded; use Go's runtime/pprof for the rest",
	[RUNTIME_JVM] =
		"the Java heap is not allocated with malloc, so only native memory is recorded; "
		"for the rest, run java with -XX:NativeMemoryTracking=summary or take a heap dump",
	[RUNTIME_V8] = "JavaScript objects live in V8's own heap, so only native memory is "
		       "recorded; for the rest, run node with --heap-prof",
	[RUNTIME_PHP] = "PHP allocates from its own pools, and malloc sees only the segments; set "
			"USE_ZEND_ALLOC=0 to record every block",
	[RUNTIME_BOEHM] =
		"memory of the Boehm collector (GC_malloc) does not come from malloc; record it "
		"with --allocator boehm",
	[RUNTIME_HIDDEN_MALLOC] =
		"a library contains its own allocator, whose blocks were not recorded; name its "
		"functions with --alloc-fn malloc --free-fn free (and any others)",
	[RUNTIME_OWN_PAGES] =
		"most of the program's memory was mapped directly and not allocated with malloc; "
		"record mappings with --mmap, a custom allocator with --alloc-fn and --free-fn, or "
		"report objects from the program with the calls in heapwise/heapwise.h",
	[RUNTIME_OWN_MALLOC] =
		"an allocator is linked into the program, which calls it directly; record it "
		"without --allocator none, record with --access valgrind, or link the allocator as "
		"a library",
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

/* Whether a symbol table defines a function malloc. */
static bool table_has_malloc(int fd, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
	Elf64_Sym *symbols = NULL;
	char *text = NULL;
	bool found = false;

	if (table->sh_size > SYMBOLS_MAX || strings->sh_size > SYMBOLS_MAX)
		return false;
	symbols = malloc(table->sh_size + 1);
	text = calloc(1, strings->sh_size + 1);
	if (symbols && text && read_exactly(fd, symbols, table->sh_size, table->sh_offset) &&
	    read_exactly(fd, text, strings->sh_size, strings->sh_offset)) {
		for (u64 i = 0; i < table->sh_size / sizeof(*symbols) && !found; i++)
			found = ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
				symbols[i].st_shndx != SHN_UNDEF &&
				symbols[i].st_name < strings->sh_size &&
				strcmp(text + symbols[i].st_name, "malloc") == 0;
	}
	free(symbols);
	free(text);
	return found;
}

/* In a table of one of these types. */
static bool has_malloc(int fd, const Elf64_Shdr *sections, u32 count, u32 type, u32 other_type)
{
	for (u32 i = 0; i < count; i++) {
		if ((sections[i].sh_type == type || sections[i].sh_type == other_type) &&
		    sections[i].sh_link < count &&
		    table_has_malloc(fd, &sections[i], &sections[sections[i].sh_link]))
			return true;
	}
	return false;
}

enum looked_for { LOOK_GO, LOOK_MALLOC, LOOK_HIDDEN };

static enum runtime runtime_of_file(int fd, enum looked_for what)
{
	enum runtime runtime = RUNTIME_NONE;
	Elf64_Ehdr header;
	Elf64_Shdr *sections = NULL;
	char *text = NULL;
	u64 bytes;

	if (!read_exactly(fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shnum > SECTIONS_MAX || header.e_shstrndx >= header.e_shnum)
		return RUNTIME_NONE;
	sections = calloc(header.e_shnum, sizeof(*sections));
	if (!sections ||
	    !read_exactly(fd, sections, header.e_shnum * sizeof(*sections), header.e_shoff))
		goto done;
	bytes = sections[header.e_shstrndx].sh_size;
	if (bytes > NAMES_MAX || !(text = calloc(1, bytes + 1)) ||
	    !read_exactly(fd, text, bytes, sections[header.e_shstrndx].sh_offset))
		goto done;
	if (has_go_section(sections, header.e_shnum, text, bytes))
		runtime = RUNTIME_GO;
	else if (what == LOOK_MALLOC &&
		 has_malloc(fd, sections, header.e_shnum, SHT_DYNSYM, SHT_SYMTAB))
		runtime = RUNTIME_OWN_MALLOC;
	else if (what == LOOK_HIDDEN &&
		 has_malloc(fd, sections, header.e_shnum, SHT_SYMTAB, SHT_SYMTAB) &&
		 !has_malloc(fd, sections, header.e_shnum, SHT_DYNSYM, SHT_DYNSYM))
		runtime = RUNTIME_HIDDEN_MALLOC;
done:
	free(text);
	free(sections);
	return runtime;
}

static enum runtime runtime_of_path(const char *path, enum looked_for what)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum runtime runtime;

	if (fd < 0)
		return RUNTIME_NONE;
	runtime = runtime_of_file(fd, what);
	close(fd);
	return runtime;
}

enum runtime runtime_of_program(const char *path) { return runtime_of_path(path, LOOK_GO); }

enum runtime runtime_of_unseen(const char *path) { return runtime_of_path(path, LOOK_MALLOC); }

bool library_hides_malloc(const char *path)
{
	const char *slash = strrchr(path, '/');

	/* The loader's own is for itself, and the recorder's are hooks. */
	if (!slash || strncmp(slash, "/ld-", 4) == 0 || strncmp(slash, "/libheapwise", 12) == 0)
		return false;
	return runtime_of_path(path, LOOK_HIDDEN) == RUNTIME_HIDDEN_MALLOC;
}

const char *runtime_hint(enum runtime runtime) { return hints[runtime]; }
