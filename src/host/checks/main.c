/* SPDX-License-Identifier: MIT
 * What gcc takes for its assembler when `heapwise cc` runs it: makes checks shorter (checks.h), or
 * has them know of tags (untag.h; clang's, too), and runs gcc's own. If that one says a word about
 * the new text it gets what the compiler wrote, so that messages are about nothing else. Whatever
 * goes wrong here, the assembler runs. Host. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/checks/checks.h"
#include "host/checks/untag.h"
#include "format/arch/tag.h"
#include "format/shadow.h"

enum { CANNOT_RUN = 127 };
static const u64 TEXT_MAX = 4ull << 30;

static void run(char **argv)
{
	execvp(argv[0], argv);
	fprintf(stderr, "heapwise cc: cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(CANNOT_RUN);
}

/* ---- the assembler's arguments ---- */

static bool ends(const char *text, const char *end)
{
	size_t bytes = strlen(text), end_bytes = strlen(end);

	return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

/* Listings and lists of what was read tell of the text as it is. */
static bool tells_of_text(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "-a", 2) == 0 || strncmp(argv[i], "--listing", 9) == 0 ||
		    strcmp(argv[i], "--MD") == 0)
			return true;
	return false;
}

static bool makes_lines(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "-g", 2) == 0 || strncmp(argv[i], "--g", 3) == 0)
			return true;
	return false;
}

/* gcc names the text last, clang behind -o FILE; with -pipe gcc names none. *at is where a file is
 * named. */
enum source { SOURCE_NONE, SOURCE_FILE, SOURCE_STDIN };

static enum source source_of(int argc, char **argv, int *at)
{
	if (argc < 3 || tells_of_text(argc, argv))
		return SOURCE_NONE;
	if (strcmp(argv[argc - 2], "-o") == 0)
		return SOURCE_STDIN;
	for (*at = argc - 1; *at > 2; --*at)
		if (strcmp(argv[*at - 2], "-o") == 0)
			break;
	if (ends(argv[argc - 1], ".s") && argv[argc - 1][0] != '-')
		*at = argc - 1;
	return ends(argv[*at], ".s") && argv[*at][0] != '-' ? SOURCE_FILE : SOURCE_NONE;
}

/* ---- texts ---- */

/* A file without a name that has this in it, read from its start; negative if that is not
 * possible. */
static int file_of(const struct strbuf *text)
{
	int fd = memfd_create("heapwise", MFD_CLOEXEC);

	if (fd >= 0 &&
	    (io_write_all(fd, text->text, text->count, NULL) || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Lines of the assembler's own, of a text that the compiler gave none, are named by its file. */
static bool may_change(int argc, char **argv, const struct strbuf *text)
{
	return !makes_lines(argc, argv) || memmem(text->text, text->count, "\t.loc ", 6) ||
	       memmem(text->text, text->count, "\t.loc\t", 6);
}

/* A file without a name with the text that is made of it; negative if that is the same, or goes
 * wrong. */
static int changed(const struct strbuf *text, bool same_size)
{
	struct untag_job job = {text->text, text->count, HW_SHADOW_OFFSET, same_size};
	struct strbuf new_text = {0};
	u64 count = 0;
	int fd = -1, status = HW_POINTER_TAGS ? checks_untag(&job, &new_text, &count, NULL)
					      : checks_shorten(text->text, text->count, &new_text,
							       &count, NULL);

	if (status == 0 && count)
		fd = file_of(&new_text);
	strbuf_release(&new_text);
	return fd;
}

/* The assembler, reading from a file without a name. True if it has done its work and said
 * nothing. */
static bool assembles(char **argv, int input)
{
	int messages = memfd_create("heapwise", MFD_CLOEXEC), status = -1;
	struct stat said = {.st_size = 1};
	pid_t child = messages < 0 ? -1 : fork();

	if (child == 0) {
		if (dup2(input, 0) == 0 && dup2(messages, 2) == 2)
			execvp(argv[0], argv);
		_exit(CANNOT_RUN);
	}
	if (child > 0)
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	if (messages >= 0) {
		fstat(messages, &said);
		close(messages);
	}
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !said.st_size;
}

/* The assembler reads a file, in place of the one that is named at `at`, 0 for none. Returns if it
 * is to have another text. */
static void assemble_changed(int argc, char **argv, int at, int input)
{
	char *named = argv[at];

	if (input < 0)
		return;
	if (at)
		memmove(argv + at, argv + at + 1, (size_t)(argc - at) * sizeof(*argv));
	if (assembles(argv, input))
		exit(0);
	if (at)
		memmove(argv + at + 1, argv + at, (size_t)(argc - at) * sizeof(*argv));
	argv[at] = named;
	close(input);
}

/* What was read from a pipe is gone; the text itself stands in for it. */
static void give_back(const struct strbuf *text)
{
	int input = file_of(text);

	if (input < 0 || dup2(input, 0) < 0) {
		fprintf(stderr, "heapwise cc: cannot pass the text to the assembler: %s\n",
			strerror(errno));
		exit(1);
	}
}

static void assemble(int argc, char **argv)
{
	int at = 0;
	enum source source = source_of(argc, argv, &at);
	struct strbuf text = {0};
	bool whole;

	if (source == SOURCE_NONE)
		return;
	whole = io_read_file(source == SOURCE_FILE ? argv[at] : "/dev/stdin", TEXT_MAX, &text,
			     NULL) == 0;
	if (whole && text.count && may_change(argc, argv, &text)) {
		assemble_changed(argc, argv, at, changed(&text, false));
		if (HW_POINTER_TAGS)
			assemble_changed(argc, argv, at, changed(&text, true));
	}
	if (source == SOURCE_STDIN) {
		if (!whole) {
			fprintf(stderr, "heapwise cc: cannot read the text for the assembler\n");
			exit(1);
		}
		give_back(&text);
	}
	strbuf_release(&text);
}

int main(int argc, char **argv)
{
	const char *assembler = getenv(CHECKS_ASSEMBLER);

	argv[0] = (char *)(uintptr_t)(assembler && *assembler ? assembler : "as");
	assemble(argc, argv);
	run(argv);
}
