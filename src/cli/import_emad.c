/* SPDX-License-Identifier: MIT
 * heapwise import --from emad: a trace of the text that EMAD writes.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/imports.h"
#include "exchange/emad.h"

int import_emad(const struct command *command, const char *from, const char *to, u64 tick_ns)
{
	struct emad_import how = {.from = from, .to = to, .tick_ns = tick_ns};
	struct emad_summary summary;
	struct err err = {0};

	if (emad_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	fprintf(stderr, "heapwise %s: %s messages of %s routines, %s allocations, %s frees\n",
		command->name, units_count(summary.messages).text,
		units_count(summary.routines).text, units_count(summary.allocations).text,
		units_count(summary.frees).text);
	return EXIT_DONE;
}
