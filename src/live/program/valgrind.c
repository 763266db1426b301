/* SPDX-License-Identifier: MIT
 * Finds Valgrind and our tool; see valgrind.h. Runs in the monitor, before the program. */
#define _GNU_SOURCE
#include "live/program/valgrind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/parts.h"
#include "live/program/arch/arch.h"

/* The folder that the tool is in is Valgrind's own, with all that it needs. */
static int tool_find(struct valgrind *self, const char *own_folder, struct err *err)
{
	if (!parts_find(own_folder, "valgrind/" VALGRIND_TOOL, self->folder) ||
	    access(self->folder, X_OK) != 0)
		return err_set(
			err, ERR_INPUT,
			"--access valgrind: this heapwise was built without its Valgrind tool; "
			"install valgrind (Debian, Ubuntu: apt-get install valgrind) and build "
			"heapwise again");
	if (parts_preloadable(self->folder, err) < 0)
		return err->code;
	*strrchr(self->folder, '/') = 0;
	return 0;
}

/* Debian's `valgrind` is a script that changes the program's environment; what it runs in the end
 * is `valgrind.bin`. */
static bool launcher_find(struct valgrind *self)
{
	static const char *const names[] = {"valgrind.bin", "valgrind"};
	const char *folders = getenv("PATH");

	if (!folders)
		folders = "/usr/local/bin:/usr/bin:/bin";
	for (u32 i = 0; i < 2; i++) {
		for (const char *at = folders;; at++) {
			int length = (int)strcspn(at, ":");

			snprintf(self->launcher, sizeof(self->launcher), "%.*s/%s", length, at,
				 names[i]);
			if (length && access(self->launcher, X_OK) == 0)
				return true;
			at += length;
			if (!*at)
				break;
		}
	}
	return false;
}

int valgrind_find(struct valgrind *self, const char *own_folder, struct err *err)
{
	memset(self, 0, sizeof(*self));
	if (tool_find(self, own_folder, err) < 0)
		return err->code;
	if (!launcher_find(self))
		return err_set(
			err, ERR_INPUT,
			"--access valgrind: valgrind is not in PATH; install it (Debian, Ubuntu: "
			"apt-get install valgrind)");
	return 0;
}

/* Options of the user's own (files, environment) are left out: they may be meant for another tool.
 * The program's own memory at the end is not freed for it: what it keeps is kept. */
int valgrind_prepare(struct valgrind *self, const struct valgrind_options *options, struct err *err)
{
	static const char *const fixed[] = {
		"--tool=heapwise",
		"--command-line-only=yes",
		"--quiet",
		"--vgdb=no",
		"--trace-children=yes",
		"--child-silent-after-fork=yes",
		"--run-libc-freeres=no",
		"--run-cxx-freeres=no",
		"--fair-sched=try",
		"--max-threads=2000",
	};
	u64 count = 0, kept = 0, room;

	while (options->argv[count])
		count++;
	room = count + sizeof(fixed) / sizeof(*fixed) + 6;
	self->argv = calloc(room, sizeof(*self->argv));
	if (!self->argv)
		return err_memory_for(err, "arguments");
	self->argv[kept++] = self->launcher;
	for (u64 i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		self->argv[kept++] = (char *)(uintptr_t)fixed[i];
	if (options->functions) /* blocks of code end where control goes elsewhere */
		self->argv[kept++] = (char *)(uintptr_t) "--vex-guest-chase=no";
	if (options->coverage)
		self->argv[kept++] = (char *)(uintptr_t) "--coverage=yes";
	self->argv[kept++] = (char *)(uintptr_t) "--";
	self->argv[kept++] = (char *)(uintptr_t)options->program;
	for (u64 i = 1; i < count; i++)
		self->argv[kept++] = options->argv[i];
	return 0;
}

void valgrind_release(struct valgrind *self)
{
	free(self->argv);
	self->argv = NULL;
}
