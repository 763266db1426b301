/* SPDX-License-Identifier: MIT
 * heapwise import --from emad: a trace of the text that EMAD writes.
 * Host. */
#include <stdio.h>

#include "host/base/units.h"
#include "show/cli/imports.h"
#include "show/cli/progress.h"
#include "show/formats/emad.h"

int import_emad(const struct command *command, const char *from, const char *to, u64 tick_ns)
{
	struct emad_import how = {.from = from, .to = to, .tick_ns = tick_ns};
	struct emad_summary summary;
	struct err err = {0};

	progress_phase("importing", how.from);
	if (emad_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	progress_end();
	fprintf(stderr, "heapwise %s: %s of %s, %s, %s\n", command->name,
		units_things(summary.messages, "message(s)").text, units_things(summary.routines, "routine(s)").text,
		units_things(summary.allocations, "allocation(s)").text, units_things(summary.frees, "free(s)").text);
	return EXIT_DONE;
}
