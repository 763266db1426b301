/* SPDX-License-Identifier: MIT
 * Lists of problems as SARIF 2.1.0 (OASIS).
 * Host. */
#include <string.h>

#include "host/base/strbuf.h"
#include "show/render/fields.h"
#include "study/result/problems.h"

/* A path as a URI: relative to the sources' folder, or file:// if it is absolute. */
static void add_uri(struct strbuf *out, const char *path)
{
	static const char plain[] = "-._~/!$&'()*+,;=@";

	strbuf_add(out, *path == '/' ? "file://" : "");
	for (; *path; path++) {
		u8 c = (u8)*path;
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (letter || (c < 0x80 && strchr(plain, c)))
			strbuf_add_char(out, (char)c);
		else
			strbuf_addf(out, "%%%02X", c);
	}
}

static void put_message(struct json *json, const char *text)
{
	put_object(json, "message", FIELD("text", text));
}

static void put_physical(struct json *json, const struct problem_place *place)
{
	struct strbuf uri = {0};

	add_uri(&uri, place->file);
	json_open(json, "physicalLocation", '{');
	json_open_flat(json, "artifactLocation", '{');
	json_text(json, "uri", strbuf_text(&uri));
	if (*place->file != '/')
		json_text(json, "uriBaseId", "%SRCROOT%");
	json_close(json, '}');
	if (place->line)
		put_object(json, "region", FIELD("startLine", place->line));
	json_close(json, '}');
	strbuf_release(&uri);
}

static void put_location(struct json *json, const struct problem_place *place)
{
	json_open(json, NULL, '{');
	if (*place->file)
		put_physical(json, place);
	if (*place->function) {
		json_open(json, "logicalLocations", '[');
		put_object(json, NULL, FIELD("fullyQualifiedName", place->function),
			   FIELD("kind", "function"));
		json_close(json, ']');
	}
	put_message(json, place->text);
	json_close(json, '}');
}

static void put_locations(struct json *json, const struct problem *row)
{
	json_open(json, "locations", '[');
	for (u32 i = 0; i < row->place_count && i < 1; i++)
		put_location(json, &row->places[i]);
	json_close(json, ']');
	if (row->place_count < 2)
		return;
	json_open(json, "relatedLocations", '[');
	for (u32 i = 1; i < row->place_count; i++)
		put_location(json, &row->places[i]);
	json_close(json, ']');
}

static u32 rule_index(const struct problem_list *self, const char *id)
{
	for (u32 i = 0; i < self->rule_count; i++)
		if (strcmp(self->rules[i].id, id) == 0)
			return i;
	return 0;
}

static void put_result(struct json *json, const struct problem_list *self,
		       const struct problem *row)
{
	struct strbuf print = {0};

	json_open(json, NULL, '{');
	put_fields(json, FIELD("ruleId", row->rule),
		   FIELD("ruleIndex", rule_index(self, row->rule)),
		   FIELD("level", row->level == PROBLEM_ERROR ? "error" : "note"));
	put_message(json, row->message);
	put_locations(json, row);
	/* The same limit is the same problem also when it is exceeded from elsewhere. */
	strbuf_addf(&print, "%s/%s", row->rule, row->subject);
	put_object(json, "partialFingerprints", FIELD("heapwiseLimit/v1", strbuf_text(&print)));
	put_object(json, "properties", FIELD("trace", row->source));
	json_close(json, '}');
	strbuf_release(&print);
}

static void put_tool(struct json *json, const struct problem_list *self)
{
	json_open(json, "tool", '{');
	json_open(json, "driver", '{');
	json_text(json, "name", self->tool);
	json_text(json, "version", self->version);
	json_open(json, "rules", '[');
	for (u32 i = 0; i < self->rule_count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "id", self->rules[i].id);
		put_object(json, "shortDescription", FIELD("text", self->rules[i].text));
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, '}');
}

void render_sarif(const struct problem_list *self, FILE *out)
{
	struct json json = {.out = out};

	json_open(&json, NULL, '{');
	json_text(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_text(&json, "version", "2.1.0");
	json_open(&json, "runs", '[');
	json_open(&json, NULL, '{');
	put_tool(&json, self);
	json_text(&json, "columnKind", "unicodeCodePoints");
	json_open(&json, "results", '[');
	for (u64 i = 0; i < self->rows.count; i++)
		if (self->rows.data[i].level != PROBLEM_NONE)
			put_result(&json, self, &self->rows.data[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}
