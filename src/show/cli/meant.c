/* SPDX-License-Identifier: MIT
 * Words that are no command.
 * Host. */
#include "show/cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/strbuf.h"
#include "show/cli/traces.h"
#include "format/tracefile.h"

static bool is_called_trace(const char *word)
{
	size_t length = strlen(word);

	return length > 4 && strcmp(word + length - 4, ".hwt") == 0;
}

static bool begins_as_trace(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	u64 magic = 0;
	bool is = fd >= 0 && read(fd, &magic, sizeof magic) == sizeof magic &&
		  magic == HW_TRACE_MAGIC;

	if (fd >= 0)
		close(fd);
	return is;
}

static bool holds_traces(const char *folder)
{
	struct trace_list traces = {0};
	struct err err = {0};
	bool holds = trace_list_find(&traces, folder, &err) == 0;

	trace_list_release(&traces);
	return holds;
}

enum meant meant_find(const char *word)
{
	struct stat about;

	if (stat(word, &about) != 0)
		return MEANT_NEITHER;
	if (S_ISDIR(about.st_mode))
		return holds_traces(word) ? MEANT_TRACE : MEANT_NEITHER;
	if (!S_ISREG(about.st_mode))
		return MEANT_NEITHER;
	if (is_called_trace(word) || begins_as_trace(word))
		return MEANT_TRACE;
	return strchr(word, '/') && access(word, X_OK) == 0 ? MEANT_PROGRAM : MEANT_NEITHER;
}

/* ---- what may have been meant ---- */

static bool is_program_of_path(const char *word)
{
	const char *path = getenv("PATH");
	struct strbuf file = {0};
	bool found = false;

	while (path && *path && !found) {
		size_t length = strcspn(path, ":");
		struct stat about;

		strbuf_clear(&file);
		strbuf_addf(&file, "%.*s/%s", (int)length, path, word);
		found = stat(strbuf_text(&file), &about) == 0 && S_ISREG(about.st_mode) &&
			access(strbuf_text(&file), X_OK) == 0;
		path += length + (path[length] == ':');
	}
	strbuf_release(&file);
	return found;
}

/* Words of other tools. */
static const struct {
	const char *word, *hint;
} hints[] = {
	{"attach", "a running program cannot be attached to; start it with 'heapwise run', and "
		   "control the recording with 'heapwise ctl'"},
	{"record", "did you mean 'heapwise run'?"},
	{"profile", "did you mean 'heapwise run'?"},
	{"start", "did you mean 'heapwise run', or 'heapwise ctl PID resume'?"},
	{"stop", "did you mean 'heapwise ctl PID stop'?"},
	{"show", "did you mean 'heapwise report', or 'heapwise serve'?"},
	{"open", "did you mean 'heapwise serve --open'?"},
	{"web", "did you mean 'heapwise serve --open'?"},
	{"flamegraph", "did you mean 'heapwise serve --open', or 'heapwise export --to folded'?"},
	{"convert", "did you mean 'heapwise export', or 'heapwise import'?"},
};

/* Of the commands below `above`, or all: who hits a word of a group need not know the group. */
static const struct command *nearest(const struct command *above, const char *word)
{
	const struct command *found = NULL, *command;
	u32 best = strlen(word) < 4 ? 2 : 3;

	for (u32 i = 0; (command = command_at(i)); i++) {
		u32 distance = word_distance(word, command_word(command));
		bool asked =
			!above || (strncmp(command->name, above->name, strlen(above->name)) == 0 &&
				   command != above);

		if (asked && distance < best) {
			best = distance;
			found = command;
		}
	}
	return found;
}

static void explain_unknown(const char *word)
{
	const struct command *near = nearest(NULL, word);

	fprintf(stderr, "heapwise: unknown command '%s'", word);
	for (u32 i = 0; i < sizeof hints / sizeof *hints; i++)
		if (strcmp(hints[i].word, word) == 0) {
			fprintf(stderr, ": %s\n", hints[i].hint);
			return;
		}
	if (is_program_of_path(word))
		fprintf(stderr, ": to record the program '%s', type 'heapwise run %s'\n", word,
			word);
	else if (near)
		fprintf(stderr, ": did you mean '%s'?\n", near->name);
	else
		fprintf(stderr, "\nTry 'heapwise help'.\n");
}

int meant_explain(const char *word)
{
	struct stat about;

	if (stat(word, &about) != 0) {
		if (!strchr(word, '/') && !is_called_trace(word)) {
			explain_unknown(word);
			return EXIT_USAGE;
		}
		fprintf(stderr, "heapwise: %s: %s\n", word, strerror(errno));
		return EXIT_BAD_INPUT;
	}
	if (S_ISDIR(about.st_mode)) {
		fprintf(stderr, "heapwise: %s: a folder without traces (*.hwt)\n", word);
		return EXIT_BAD_INPUT;
	}
	if (!strchr(word, '/') && access(word, X_OK) == 0) {
		fprintf(stderr,
			"heapwise: unknown command '%s': to record the program in this "
			"folder, type 'heapwise ./%s'\n",
			word, word);
		return EXIT_USAGE;
	}
	fprintf(stderr,
		"heapwise: %s: neither a trace nor an executable program; 'heapwise import' reads "
		"files of heaptrack, HeapLog and EMAD\n",
		word);
	return EXIT_BAD_INPUT;
}

int meant_explain_below(const struct command *above, const char *word)
{
	const struct command *near = nearest(above, word);

	fprintf(stderr, "heapwise %s: unknown command '%s'", above->name, word);
	if (near)
		fprintf(stderr, ": did you mean '%s'?\n", near->name);
	else
		fprintf(stderr, "\nTry 'heapwise %s --help'.\n", above->name);
	return EXIT_USAGE;
}
