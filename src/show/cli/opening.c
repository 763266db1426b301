/* SPDX-License-Identifier: MIT
 * Opens traces for the commands that analyse them.
 * Host. */
#include "show/cli/opening.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/strbuf.h"
#include "study/query/graph.h"

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

/* ---- --where: some chunks of a trace only ---- */

static const char PREFIX[] = "all | where ";

static bool is_query(const char *text, struct query_error *error)
{
	struct query *query = query_parse(text, error);

	query_free(query);
	return query != NULL;
}

/* A text that begins as queries do is meant as one. */
static bool begins_as_query(const char *text)
{
	static const char *const words[] = {"all", "at", "trace", "union", "diff", "common", "let"};

	text += strspn(text, " \t\n");
	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (strcspn(text, " \t\n|(;\"") == strlen(words[i]) &&
		    strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

static int fail_where(const struct query_error *error, u32 before, struct err *err)
{
	u32 at = error->at >= before ? error->at - before : 0;

	if (error->code != ERR_USAGE)
		return err_set(err, error->code, "--where: %s", error->message);
	return err_set(err, ERR_USAGE, "--where: column %u: %s%s%s", at + 1, error->message,
		       error->hint[0] ? "; " : "", error->hint);
}

/* The query that is meant: the text itself, or as the condition of `where`. NULL and err if it is
 * neither. */
static char *query_text(const char *text, struct err *err)
{
	struct strbuf out = {0};
	struct query_error error = {0};
	bool whole = begins_as_query(text);

	strbuf_addf(&out, "%s%s", whole ? "" : PREFIX, text);
	if (is_query(strbuf_text(&out), &error))
		return strbuf_take(&out);
	strbuf_release(&out);
	fail_where(&error, whole ? 0 : sizeof PREFIX - 1, err);
	return NULL;
}

/* Whether the text of --where is right, before a trace is read for nothing. */
static int where_check(const char *text, struct err *err)
{
	char *query = query_text(text, err);

	free(query);
	return query ? 0 : err->code;
}

/* Makes the study that of the chosen chunks. */
static int where_apply(struct study *study, const char *where, struct err *err)
{
	const struct thresholds thresholds = THRESHOLDS_DEFAULT;
	struct query_trace trace = {.model = study->model,
				    .symbols = &study->symbols,
				    .image = study->model->image.number,
				    .name = study->path,
				    .guess = true,
				    .thresholds = thresholds,
				    .pointers = study_pointers(study)};
	char *text = query_text(where, err);
	struct query_engine *engine = text ? query_engine_new(&trace, 1) : NULL;
	struct selection chosen = {0};
	struct query_error error = {0};
	int status;

	if (!text)
		return err->code;
	if (!engine)
		status = err_memory(err);
	else if (query_select(engine, text, NULL, &chosen, &error) < 0)
		status = fail_where(&error, strlen(text) - strlen(where), err);
	else
		status = study_narrow(study, &chosen, err);
	selection_release(&chosen);
	query_engine_free(engine);
	free(text);
	return status;
}

/* ---- traces ---- */

struct study *open_trace(const struct command *command, const struct trace_args *args,
			 const struct wrappers *wrappers, const char *path, struct err *err)
{
	struct study_options how = opening_options(command);
	struct study *study;

	how.image = args->image;
	how.follows = command->follows;
	how.sums = command->sums && !args->where && !args->chunks && !args->graphs;
	how.index = args->no_index ? INDEX_IGNORE : INDEX_USE;
	how.find_names = args->symbols;
	how.graphs = args->graphs;
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

void trace_reopen(struct study **study, struct err *err)
{
	struct study_options how = (*study)->how;
	const char *path = (*study)->path;

	how.sums = false;
	close_trace(*study);
	*study = open_study(path, &how, err);
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
