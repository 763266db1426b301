/* SPDX-License-Identifier: MIT
 * What the symbol tests share: compiling the targets, listing their code, asking the symbolizer.
 * Included once per test executable. */
#ifndef UNIT_SYMBOLS_TOOLS_H
#define UNIT_SYMBOLS_TOOLS_H

#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "lib/test.h"
#include "host/symbols/symbolizer.h"

#define TOOL static __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Runs a shell command in the test's folder; its exit status, or -1. */
TOOL __attribute__((format(printf, 1, 2))) int shell(const char *format, ...)
{
	struct strbuf command = { 0 };
	va_list args;
	int status;

	strbuf_addf(&command, "cd '%s' && { ", test_folder());
	va_start(args, format);
	strbuf_vaddf(&command, format, args);
	va_end(args);
	strbuf_add(&command, "; }");
	status = system(strbuf_text(&command));
	strbuf_release(&command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define MUST(...)                                                                                  \
	do {                                                                                       \
		if (shell(__VA_ARGS__))                                                            \
			FAIL("failed: " __VA_ARGS__);                                              \
	} while (0)

TOOL bool have(const char *tool)
{
	return shell("command -v %s >/dev/null 2>&1", tool) == 0;
}

/* Skips the test if the tool of the package is missing. */
TOOL void need(const char *tool, const char *package)
{
	if (!have(tool))
		test_skip("needs package %s", package);
}

/* For the shell. */
#define TARGETS "'" HEAPWISE_SOURCE_DIR "/tests/targets'"

/* Path of a file in the test's folder; the buffer is used in turn. */
TOOL const char *in_folder(const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_folder(), name);
	return path;
}

struct addresses {
	u64 *data;
	u64 count, capacity;
};

struct code_symbol {
	u64 start, bytes;
	char name[256];
};

struct code_symbols {
	struct code_symbol *data;
	u64 count, capacity;
};

/* The sized functions of a file by its own table of that type (SHT_SYMTAB or SHT_DYNSYM). */
TOOL struct code_symbols code_symbols(const char *path, u32 table_type)
{
	struct code_symbols found = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Shdr header;
		GElf_Sym symbol;

		if (!gelf_getshdr(scn, &header) || header.sh_type != table_type)
			continue;
		for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
			struct code_symbol new = { .start = symbol.st_value,
						   .bytes = symbol.st_size };

			if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size ||
			    symbol.st_shndx == SHN_UNDEF)
				continue;
			snprintf(new.name, sizeof(new.name), "%s",
				 elf_strptr(elf, header.sh_link, symbol.st_name));
			if (!vec_push(&found, new))
				FAIL("no memory");
		}
	}
	elf_end(elf);
	close(fd);
	if (!found.count)
		FAIL("%s has no functions", path);
	return found;
}

TOOL int compare_addresses(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Every step-th byte of every function, ascending, each once. */
TOOL struct addresses code_addresses(const char *path, u64 step)
{
	struct code_symbols symbols = code_symbols(path, SHT_SYMTAB);
	struct addresses found = { 0 };
	u64 kept = 0;

	for (u64 i = 0; i < symbols.count; i++)
		for (u64 offset = 0; offset < symbols.data[i].bytes; offset += step)
			if (!vec_push(&found, symbols.data[i].start + offset))
				FAIL("no memory");
	qsort(found.data, found.count, sizeof(u64), compare_addresses);
	for (u64 i = 1; i < found.count; i++)
		if (found.data[i] != found.data[kept])
			found.data[++kept] = found.data[i];
	found.count = kept + 1;
	vec_release(&symbols);
	return found;
}

/* Answers of one module, with the symbolizer that owns them. */
struct asked {
	struct symbolizer *symbolizer;
	struct symbolizer_answer *answers;
	enum symbolizer_state state;
};

TOOL struct asked ask(const struct symbolizer_module *module, const struct addresses *addresses,
		      const struct symbolizer_options *options)
{
	struct asked asked = { 0 };
	struct err err;
	u32 id;

	asked.answers = calloc(addresses->count + 1, sizeof(*asked.answers));
	asked.symbolizer = symbolizer_new(options, &err);
	if (!asked.answers || !asked.symbolizer ||
	    symbolizer_add(asked.symbolizer, module, &id, &err) ||
	    symbolizer_resolve(asked.symbolizer,
			       &(struct symbolizer_query){id, addresses->data, addresses->count,
							  asked.answers},
			       &err))
		FAIL("%s", err.text);
	asked.state = symbolizer_state(asked.symbolizer, id);
	symbolizer_drop(asked.symbolizer, id); /* answers must outlive the files */
	return asked;
}

TOOL struct asked ask_file(const char *path, const struct addresses *addresses)
{
	return ask(&(struct symbolizer_module){ .path = path }, addresses, NULL);
}

TOOL void asked_release(struct asked *asked)
{
	symbolizer_free(asked->symbolizer);
	free(asked->answers);
}

TOOL bool same_answer(const struct symbolizer_answer *a, const struct symbolizer_answer *b)
{
	if (a->frame_count != b->frame_count)
		return false;
	for (u32 i = 0; i < a->frame_count; i++)
		if (strcmp(a->frames[i].function, b->frames[i].function) ||
		    strcmp(a->frames[i].file, b->frames[i].file) ||
		    a->frames[i].line != b->frames[i].line ||
		    a->frames[i].inlined != b->frames[i].inlined)
			return false;
	return true;
}

/* Fails on the first address where two ways to the same debug info differ. */
TOOL void check_same(const struct addresses *addresses, const struct asked *got,
		     const struct asked *want)
{
	for (u64 i = 0; i < addresses->count; i++)
		if (!same_answer(&got->answers[i], &want->answers[i]))
			FAIL("0x%llx: %u frames, %s:%u, want %u, %s:%u",
			     (unsigned long long)addresses->data[i], got->answers[i].frame_count,
			     got->answers[i].frame_count ? got->answers[i].frames[0].file : "",
			     got->answers[i].frame_count ? got->answers[i].frames[0].line : 0,
			     want->answers[i].frame_count,
			     want->answers[i].frame_count ? want->answers[i].frames[0].file : "",
			     want->answers[i].frame_count ? want->answers[i].frames[0].line : 0);
}

#endif
