/* SPDX-License-Identifier: MIT
 * heapwise import --from emad: a trace of the text that EMAD writes.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/imports.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "exchange/emad.h"

int import_emad(const struct command *command, const char *from, const char *to, u64 tick_ns)
{
	struct emad_import how = {.from = from, .to = to, .tick_ns = tick_ns};
	struct emad_summary summary;
	struct err err = {0};

	progress_phase("importing", how.from);
	if (emad_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	progress_end();
	fprintf(stderr, "heapwise %s: %s %s of %s %s, %s %s, %s %s\n", command->name,
		units_count(summary.messages).text, plural(summary.messages, "message", "messages"),
		units_count(summary.routines).text, plural(summary.routines, "routine", "routines"),
		units_count(summary.allocations).text, plural(summary.allocations, "allocation", "allocations"),
		units_count(summary.frees).text, plural(summary.frees, "free", "frees"));
	return EXIT_DONE;
}
