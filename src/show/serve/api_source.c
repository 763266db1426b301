/* SPDX-License-Identifier: MIT
 * Source files over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "study/analysis/findings/unnamed.h"
#include "show/serve/api.h"
#include "study/layout/source.h"

enum { ROWS_MAX = 500 };

static struct named_value sums_field(const char *name, struct call *call,
				     const struct line_sums *sums)
{
	return KEPT(name, call, FIELD("allocs", sums->allocs), FIELD("bytes", sums->bytes),
		    FIELD("peak", sums->peak), FIELD("kept", sums->leaked));
}

/* What helps where there is no source to show. */
static struct named_value advice_field(struct call *call, bool wanted)
{
	struct strbuf text = {0};

	if (wanted && !unnamed_advice(&call->trace->stacks, true, &text))
		strbuf_add(&text, "no line numbers; build with -g and record again");
	return field_words("advice", call, &text);
}

struct files {
	struct call *call;
	const struct source_table *table;
	u64 offset;
};

static void put_file(struct json *json, const void *list, u64 i)
{
	const struct files *self = list;
	u64 id = self->offset + i;
	const struct source_file *file = &self->table->files.data[id];

	put_object(json, NULL, FIELD("id", id), FIELD("file", file->path),
		   sums_field("self", self->call, &file->self),
		   sums_field("incl", self->call, &file->incl));
}

void api_files(struct call *call)
{
	struct err err = {0};
	struct files self = {.call = call, .table = view_source(call->trace, &err)};
	u64 limit = ROWS_MAX, count, left;

	if (!self.table) {
		call_fail(call, &err);
		return;
	}
	if (!call_number(call, "offset", 0, UINT32_MAX, &self.offset) ||
	    !call_number(call, "limit", 1, ROWS_MAX, &limit))
		return;
	count = self.table->files.count;
	left = self.offset < count ? count - self.offset : 0;
	reply_object(call, left > limit, FIELD("total", count),
		     LIST("rows", result_top(left, limit), put_file, &self),
		     advice_field(call, count == 0));
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

enum { LINES_MAX = 2000 };

#define NO_FACTS UINT64_MAX

struct lines {
	struct call *call;
	const struct source_table *table;
	const struct source_file *file;
	const struct source_text *text;
	u64 from, to;
	bool known; /* only lines that something is known of */
};

/* Points whose own line it is. */
struct line_points {
	const struct source_table *table;
	u64 line;
};

static void put_own_point(struct json *json, const void *list, u64 i)
{
	const struct line_points *self = list;

	if (self->table->own_line[i] == self->line + 1)
		json_number(json, NULL, i);
}

/* A line, with its facts unless `at` is none of the table's. */
static void put_line(struct json *json, const struct lines *self, u64 n, const char *text, u64 at)
{
	const struct source_line *line = at == NO_FACTS ? NULL : &self->table->lines.data[at];
	u64 points = line && line->self.allocs ? self->call->trace->model->points.count : 0;

	put_object(json, NULL, FIELD("n", n), FIELD("text", text),
		   line ? sums_field("self", self->call, &line->self) : ABSENT,
		   line ? sums_field("incl", self->call, &line->incl) : ABSENT,
		   field_when(line, LIST("points", points, put_own_point,
					 &((struct line_points){self->table, at}))));
}

/* All of them. Without the text only lines that something is known of. */
static void put_lines(struct json *json, const void *list, u64 i)
{
	const struct lines *self = list;
	const struct source_line *known = self->table->lines.data;
	u64 at = self->file->first_line, end = at + self->file->line_count;
	const char *text = self->text->text;

	(void)i;
	for (u64 n = 1; n <= self->to; n++) {
		size_t bytes = text ? strcspn(text, "\n") : 0;
		bool facts;

		while (at < end && known[at].line < n)
			at++;
		facts = at < end && known[at].line == n;
		if (n >= self->from && (facts || (text && !self->known))) {
			char *line = text ? strndup(text, bytes) : NULL;

			put_line(json, self, n, line, facts ? at : NO_FACTS);
			free(line);
		}
		if (!text)
			continue;
		text += bytes;
		if (!*text || !*++text)
			break;
	}
}

static void reply_source(const struct lines *self)
{
	const struct source_text *text = self->text;

	reply_object(self->call, false, FIELD("file", self->file->path), FLAG("found", text->text),
		     FLAG("stale", text->stale), FIELD("asks", text->asks),
		     FIELD("lang", language(self->file->path)),
		     TEXTS("searched", text->searched.data, text->searched.count),
		     LIST("lines", 1, put_lines, self));
}

void api_source(struct call *call)
{
	struct err err = {0};
	const struct source_table *table = view_source(call->trace, &err);
	struct source_text text = {0};
	struct lines lines = {
		.call = call, .table = table, .text = &text, .from = 1, .to = LINES_MAX};
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
	reply_source(&lines);
	source_text_release(&text);
}
