/* SPDX-License-Identifier: MIT
 * heapwise import --from heaplog: a trace of HeapLog dumps.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/imports.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "exchange/heaplog.h"

int import_heaplog(const struct command *command, char **from, u32 count, const char *to, u64 tick_ns)
{
	struct heaplog_import how = {.from = from, .from_count = count, .to = to, .tick_ns = tick_ns};
	struct heaplog_summary summary;
	struct err err = {0};

	progress_phase("importing", how.from[0]);
	if (heaplog_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	progress_end();
	fprintf(stderr, "heapwise %s: %s %s, %s of them freed, %s %s, %s %s\n", command->name,
		units_count(summary.entries).text, plural(summary.entries, "entry", "entries"), units_count(summary.freed).text,
		units_count(summary.types).text, plural(summary.types, "type", "types"),
		units_count(summary.nodes).text, plural(summary.nodes, "node", "nodes"));
	return EXIT_DONE;
}
