/* SPDX-License-Identifier: MIT
 * From the text of --where to the part of a model.
 * Host. */
#include "show/cli/where.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/strbuf.h"
#include "study/query/graph.h"

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

static int fail(const struct query_error *error, u32 before, struct err *err)
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
	fail(&error, whole ? 0 : sizeof PREFIX - 1, err);
	return NULL;
}

int where_check(const char *text, struct err *err)
{
	char *query = query_text(text, err);

	free(query);
	return query ? 0 : err->code;
}

int where_apply(struct study *study, const char *where, struct err *err)
{
	const struct thresholds thresholds = THRESHOLDS_DEFAULT;
	struct query_trace trace = {.model = study->model,
				    .symbols = &study->symbols,
				    .image = study->model->image.number,
				    .name = study->path,
				    .guess = true,
				    .thresholds = thresholds};
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
		status = fail(&error, strlen(text) - strlen(where), err);
	else
		status = study_narrow(study, &chosen, err);
	selection_release(&chosen);
	query_engine_free(engine);
	free(text);
	return status;
}
