/* SPDX-License-Identifier: MIT
 * heapwise import --from heaptrack: a trace of a file that heaptrack recorded.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/imports.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "exchange/heaptrack.h"

int import_heaptrack(const struct command *command, const char *from, const char *to)
{
	struct heaptrack_import how = {.from = from, .to = to};
	struct heaptrack_summary summary;
	struct err err = {0};

	progress_phase("importing", how.from);
	if (heaptrack_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	progress_end();
	fprintf(stderr, "heapwise %s: %s %s, %s %s, %s %s%s\n", command->name,
		units_count(summary.allocations).text, plural(summary.allocations, "allocation", "allocations"),
		units_count(summary.frees).text, plural(summary.frees, "free", "frees"),
		units_count(summary.stacks).text, plural(summary.stacks, "stack", "stacks"),
		summary.cut ? "; the file is truncated" : "");
	return EXIT_DONE;
}
