/* SPDX-License-Identifier: MIT
 * heapwise import --from heaptrack: a trace of a file that heaptrack recorded.
 * Host. */
#include <stdio.h>

#include "host/base/units.h"
#include "show/cli/imports.h"
#include "show/cli/progress.h"
#include "show/formats/heaptrack.h"

int import_heaptrack(const struct command *command, const char *from, const char *to)
{
	struct heaptrack_import how = {.from = from, .to = to};
	struct heaptrack_summary summary;
	struct err err = {0};

	progress_phase("importing", how.from);
	if (heaptrack_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	progress_end();
	fprintf(stderr, "heapwise %s: %s, %s, %s%s\n", command->name, units_things(summary.allocations, "allocation(s)").text,
		units_things(summary.frees, "free(s)").text, units_things(summary.stacks, "stack(s)").text,
		summary.cut ? "; the file is truncated" : "");
	return EXIT_DONE;
}
