/* SPDX-License-Identifier: MIT
 * Opens traces for the commands that analyse them.
 * Host. */
#include "show/cli/opening.h"

#include <stdio.h>

#include "show/cli/progress.h"
#include "show/cli/where.h"

enum { DEPTH_TEXT = 8 };

static void say(void *command_, const char *text)
{
	const struct command *command = command_;

	fprintf(stderr, "heapwise %s: %s\n", command->name, text);
}

static void say_phase(void *command, enum study_phase phase, const char *path)
{
	static const char *const doing[] = {[PHASE_NAMES] = "looking up names of",
					    [PHASE_READING] = "reading",
					    [PHASE_PREPARING] = "analysing"};

	(void)command;
	progress_phase(doing[phase], path);
}

struct study_options opening_options(const struct command *command)
{
	return (struct study_options){.image = STUDY_LAST_IMAGE,
				      .self = (void *)command,
				      .note = say,
				      .phase = say_phase,
				      .share = progress_share};
}

struct study *open_study(const char *path, const struct study_options *how, struct err *err)
{
	struct study *study = study_new(path, how);

	if (!study)
		err_memory(err);
	else if (study_load(study, err) == 0)
		return study;
	close_trace(study);
	return NULL;
}

struct study *open_trace(const struct command *command, const struct trace_args *args,
			 const struct wrappers *wrappers, const char *path, struct err *err)
{
	struct study_options how = opening_options(command);
	struct study *study;

	how.image = args->image;
	how.index = args->no_index ? INDEX_IGNORE : INDEX_USE;
	how.find_names = args->symbols;
	how.no_fold = args->folding.none;
	how.wrappers = wrappers;
	if (args->where && where_check(args->where, err) < 0)
		return NULL;
	study = open_study(path, &how, err);
	if (study && args->where && where_apply(study, args->where, err) < 0) {
		close_trace(study);
		return NULL;
	}
	return study;
}

void close_trace(struct study *study)
{
	progress_end();
	study_free(study);
}

static u32 depth_shown(enum format format, u64 depth)
{
	if (depth != NOT_GIVEN)
		return depth > UINT32_MAX ? 0 : (u32)depth;
	return format == FORMAT_TEXT ? DEPTH_TEXT : 0;
}

struct stack_source shown_stacks(const struct study *study, enum format format, u64 depth)
{
	struct stack_source stacks = study->stacks;

	stacks.types = study->point_types;
	stacks.depth = depth_shown(format, depth);
	stacks.fold = format == FORMAT_TEXT && depth != 0;
	return stacks;
}

struct stack_source typed_stacks(struct study *study, enum format format, u64 depth)
{
	struct err ignored = {0};

	study_types(study, &ignored);
	return shown_stacks(study, format, depth);
}
