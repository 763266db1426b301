/* SPDX-License-Identifier: MIT
 * Lists of problems as annotations and as XML.
 * Host. Names come from traces, that is from strangers: what would be a command or markup is
 * escaped. */
#include "study/result/problems.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/text.h"

void problems_add(struct problem_list *self, const struct problem *problem)
{
	if (!vec_push(&self->rows, *problem))
		self->failed = true;
}

u64 problems_count(const struct problem_list *self, enum problem_level level)
{
	u64 count = 0;

	for (u64 i = 0; i < self->rows.count; i++)
		count += self->rows.data[i].level == level;
	return count;
}

void problems_release(struct problem_list *self)
{
	vec_release(&self->rows);
	arena_release(&self->arena);
}

/* ---- GitHub ---- */

/* Values of properties end at a comma, commands at a line's end. */
static void put_command_text(FILE *out, const char *text, bool property)
{
	while (*text) {
		u32 length = utf8_length(text);

		if (strchr("%\r\n", *text) || (property && strchr(":,", *text)))
			fprintf(out, "%%%02X", (u8)*text);
		else if (text_is_harmless(text, length))
			fwrite(text, 1, length, out);
		else
			fputc('?', out);
		text += length ? length : 1;
	}
}

static void put_property(FILE *out, const char *name, const char *text, bool *begun)
{
	fprintf(out, "%s%s=", *begun ? "," : " ", name);
	put_command_text(out, text, true);
	*begun = true;
}

void render_github(const struct problem_list *self, FILE *out)
{
	for (u64 i = 0; i < self->rows.count; i++) {
		const struct problem *row = &self->rows.data[i];
		const struct problem_place *place = row->place_count ? row->places : NULL;
		bool begun = false;

		if (row->level == PROBLEM_NONE)
			continue;
		fputs(row->level == PROBLEM_ERROR ? "::error" : "::notice", out);
		if (place && *place->file)
			put_property(out, "file", place->file, &begun);
		if (place && *place->file && place->line)
			fprintf(out, ",line=%" PRIu32, place->line);
		put_property(out, "title", row->subject, &begun);
		fputs("::", out);
		put_command_text(out, row->message, false);
		for (u32 k = 0; k < row->place_count; k++) {
			fputs("%0A", out);
			put_command_text(out, row->places[k].text, false);
		}
		fputc('\n', out);
	}
}

/* ---- JUnit ---- */

static void put_attribute(FILE *out, const char *name, const char *text)
{
	fprintf(out, " %s=\"", name);
	text_put_xml(out, text);
	fputc('"', out);
}

static void put_places(FILE *out, const struct problem *row)
{
	for (u32 i = 0; i < row->place_count; i++) {
		fputc('\n', out);
		text_put_xml(out, row->places[i].text);
	}
}

static void put_case(FILE *out, const struct problem *row)
{
	fputs("    <testcase", out);
	put_attribute(out, "classname", row->source);
	put_attribute(out, "name", row->subject);
	fputs(" time=\"0\"", out);
	if (row->level == PROBLEM_NONE) {
		fputs("/>\n", out);
		return;
	}
	fputs(">\n      ", out);
	if (row->level == PROBLEM_ERROR) {
		fputs("<failure", out);
		put_attribute(out, "type", row->rule);
		put_attribute(out, "message", row->message);
		fputc('>', out);
	} else {
		fputs("<system-out>", out);
	}
	text_put_xml(out, row->message);
	put_places(out, row);
	fprintf(out, "</%s>\n    </testcase>\n",
		row->level == PROBLEM_ERROR ? "failure" : "system-out");
}

void render_junit(const struct problem_list *self, FILE *out)
{
	u64 failures = problems_count(self, PROBLEM_ERROR);

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
	put_attribute(out, "name", self->suite);
	fprintf(out,
		" tests=\"%" PRIu64 "\" failures=\"%" PRIu64
		"\" errors=\"0\" time=\"0\">\n  <testsuite",
		self->rows.count, failures);
	put_attribute(out, "name", self->suite);
	fprintf(out,
		" tests=\"%" PRIu64 "\" failures=\"%" PRIu64
		"\" errors=\"0\" skipped=\"0\" time=\"0\">\n",
		self->rows.count, failures);
	for (u64 i = 0; i < self->rows.count; i++)
		put_case(out, &self->rows.data[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
}
