/* SPDX-License-Identifier: MIT
 * Source files over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "study/analysis/findings/unnamed.h"
#include "show/serve/reply.h"
#include "study/layout/source.h"

enum { ROWS_MAX = 500 };

static void put_sums(struct json *json, const char *key, const struct line_sums *sums)
{
	put_object(json, key, FIELD("allocs", sums->allocs), FIELD("bytes", sums->bytes),
		   FIELD("peak", sums->peak), FIELD("kept", sums->leaked));
}

/* What helps where there is no source to show. */
static void put_advice(struct call *call, bool wanted)
{
	struct strbuf text = {0};

	if (wanted && !unnamed_advice(&call->trace->stacks, true, &text))
		strbuf_add(&text, "no line numbers; build with -g and record again");
	json_text(&call->json, "advice", text.count && !text.failed ? text.text : NULL);
	strbuf_release(&text);
}

void api_files(struct call *call)
{
	struct err err = {0};
	const struct source_table *table = view_source(call->trace, &err);
	u64 offset = 0, limit = ROWS_MAX;

	if (!table) {
		call_fail(call, &err);
		return;
	}
	if (!call_number(call, "offset", 0, UINT32_MAX, &offset) ||
	    !call_number(call, "limit", 1, ROWS_MAX, &limit) ||
	    !reply_begin(call, offset + limit < table->files.count))
		return;
	json_open_flat(&call->json, "data", '{');
	json_number(&call->json, "total", table->files.count);
	json_open_flat(&call->json, "rows", '[');
	for (u64 i = offset; i < table->files.count && i - offset < limit; i++) {
		json_open_flat(&call->json, NULL, '{');
		put_fields(&call->json, FIELD("id", i), FIELD("file", table->files.data[i].path));
		put_sums(&call->json, "self", &table->files.data[i].self);
		put_sums(&call->json, "incl", &table->files.data[i].incl);
		json_close(&call->json, '}');
	}
	json_close(&call->json, ']');
	put_advice(call, table->files.count == 0);
	json_close(&call->json, '}');
	reply_end(call);
}

static const char *language(const char *path)
{
	static const char *const names[][2] = {{".c", "c"},     {".h", "c"},     {".cc", "cpp"},
					       {".cpp", "cpp"}, {".cxx", "cpp"}, {".hh", "cpp"},
					       {".hpp", "cpp"}, {".rs", "rust"}, {".ipp", "cpp"},
					       {".tcc", "cpp"}, {".C", "cpp"}};
	const char *dot = strrchr(path, '.');

	for (u32 i = 0; dot && i < sizeof names / sizeof *names; i++)
		if (strcmp(dot, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

/* What is known of a line beside its text. */
static void put_line_facts(struct call *call, const struct source_table *table, u64 index)
{
	const struct source_line *line = &table->lines.data[index];
	struct json *json = &call->json;

	put_sums(json, "self", &line->self);
	put_sums(json, "incl", &line->incl);
	json_open_flat(json, "points", '[');
	for (u32 i = 0; line->self.allocs && i < call->trace->model->points.count; i++)
		if (table->own_line[i] == index + 1)
			json_number(json, NULL, i);
	json_close(json, ']');
}

/* The line's text without its end, as a string. */
static void put_line_text(struct json *json, const char *text, size_t bytes)
{
	char *copy = strndup(text, bytes);

	json_text(json, "text", copy);
	free(copy);
}

enum { LINES_MAX = 2000 };

struct lines {
	const struct source_table *table;
	const struct source_file *file;
	const struct source_text *text;
	u64 from, to;
	bool known; /* only lines that something is known of */
};

/* Without the text only lines that something is known of. */
static void put_lines(struct call *call, const struct lines *self)
{
	const struct source_line *known = self->table->lines.data;
	u64 at = self->file->first_line, end = at + self->file->line_count;
	const char *text = self->text->text;
	struct json *json = &call->json;

	for (u64 n = 1; n <= self->to; n++) {
		size_t bytes = text ? strcspn(text, "\n") : 0;
		bool facts;

		while (at < end && known[at].line < n)
			at++;
		facts = at < end && known[at].line == n;
		if (n >= self->from && (facts || (text && !self->known))) {
			json_open_flat(json, NULL, '{');
			json_number(json, "n", n);
			if (text)
				put_line_text(json, text, bytes);
			else
				json_null(json, "text");
			if (facts)
				put_line_facts(call, self->table, at);
			json_close(json, '}');
		}
		if (!text)
			continue;
		text += bytes;
		if (!*text || !*++text)
			break;
	}
}

static void reply_source(struct call *call, const struct lines *lines)
{
	struct json *json = &call->json;

	if (!reply_begin(call, false))
		return;
	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("file", lines->file->path), FLAG("found", lines->text->text),
		   FLAG("stale", lines->text->stale), FIELD("asks", lines->text->asks),
		   FIELD("lang", language(lines->file->path)));
	json_open_flat(json, "searched", '[');
	for (u64 i = 0; i < lines->text->searched.count; i++)
		json_text(json, NULL, lines->text->searched.data[i]);
	json_close(json, ']');
	json_open_flat(json, "lines", '[');
	put_lines(call, lines);
	json_close(json, ']');
	json_close(json, '}');
	reply_end(call);
}

void api_source(struct call *call)
{
	struct err err = {0};
	const struct source_table *table = view_source(call->trace, &err);
	struct source_text text = {0};
	struct lines lines = {.table = table, .text = &text, .from = 1, .to = LINES_MAX};
	u64 file = UINT64_MAX;

	if (!table) {
		call_fail(call, &err);
		return;
	}
	if (!table->files.count || !call_text(call, "file") ||
	    !parameter_number(call->request, "file", 0, table->files.count - 1, &file)) {
		call_bad(call, "file", "the number of a file in /api/v1/files");
		return;
	}
	if (!call_number(call, "from", 1, UINT32_MAX, &lines.from) ||
	    !call_bool(call, "known", &lines.known))
		return;
	lines.to = lines.from + LINES_MAX - 1;
	if (!call_number(call, "to", lines.from, lines.to, &lines.to))
		return;
	lines.file = &table->files.data[file];
	source_text_read(&text, call->trace, (u32)file, &call->api->sources);
	reply_source(call, &lines);
	source_text_release(&text);
}
