/* SPDX-License-Identifier: MIT
 * heapwise trace: the commands on a trace file as such.
 * Host. */
#include "show/cli/command.h"

static const struct command *const below[] = {&cmd_info,  &cmd_dump,      &cmd_symbolize,
					      &cmd_index, &cmd_callgraph, &cmd_types_index,
					      NULL};

const struct command cmd_trace = {
	.name = "trace",
	.operands = "FILE",
	.summary = "inspect, dump, symbolize or index a trace file",
	.commands = below,
};
