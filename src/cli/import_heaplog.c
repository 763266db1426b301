/* SPDX-License-Identifier: MIT
 * heapwise import --from heaplog: a trace of HeapLog dumps.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/imports.h"
#include "exchange/heaplog.h"

int import_heaplog(const struct command *command, char **from, u32 count, const char *to, u64 tick_ns)
{
	struct heaplog_import how = {.from = from, .from_count = count, .to = to, .tick_ns = tick_ns};
	struct heaplog_summary summary;
	struct err err = {0};

	if (heaplog_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	fprintf(stderr, "heapwise %s: %s entries, %s of them freed, %s types, %s nodes\n",
		command->name, units_count(summary.entries).text, units_count(summary.freed).text,
		units_count(summary.types).text, units_count(summary.nodes).text);
	return EXIT_DONE;
}
