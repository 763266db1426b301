/* SPDX-License-Identifier: MIT
 * heapwise import --from heaplog: a trace of HeapLog dumps.
 * Host. */
#include <stdio.h>

#include "host/base/units.h"
#include "show/cli/imports.h"
#include "show/cli/progress.h"
#include "show/formats/heaplog.h"

int import_heaplog(const struct command *command, char **from, u32 count, const char *to, u64 tick_ns)
{
	struct heaplog_import how = {.from = from, .from_count = count, .to = to, .tick_ns = tick_ns};
	struct heaplog_summary summary;
	struct err err = {0};

	progress_phase("importing", how.from[0]);
	if (heaplog_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	progress_end();
	fprintf(stderr, "heapwise %s: %s, %s of them freed, %s, %s\n", command->name,
		units_things(summary.entries, "entr(y|ies)").text, units_count(summary.freed).text,
		units_things(summary.types, "type(s)").text, units_things(summary.nodes, "node(s)").text);
	return EXIT_DONE;
}
