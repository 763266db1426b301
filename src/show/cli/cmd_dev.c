/* SPDX-License-Identifier: MIT
 * heapwise dev: commands for those who work on Heapwise itself.
 * Host. */
#include "show/cli/command.h"

static const struct command *const below[] = {&cmd_synth, NULL};

const struct command cmd_dev = {
	.name = "dev",
	.operands = "",
	.summary = "tools for the development of Heapwise",
	.commands = below,
};
