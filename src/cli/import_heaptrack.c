/* SPDX-License-Identifier: MIT
 * heapwise import --from heaptrack: a trace of a file that heaptrack recorded.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/imports.h"
#include "exchange/heaptrack.h"

int import_heaptrack(const struct command *command, const char *from, const char *to)
{
	struct heaptrack_import how = {.from = from, .to = to};
	struct heaptrack_summary summary;
	struct err err = {0};

	if (heaptrack_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	fprintf(stderr, "heapwise %s: %s allocations, %s frees, %s stacks%s\n", command->name,
		units_count(summary.allocations).text, units_count(summary.frees).text,
		units_count(summary.stacks).text, summary.cut ? "; the file breaks off" : "");
	return EXIT_DONE;
}
