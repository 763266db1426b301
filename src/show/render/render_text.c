/* SPDX-License-Identifier: MIT
 * A result as text for people.
 * Host. Colour is bold and dim only, so it works on any background; the caller decides whether. */
#include <inttypes.h>
#include <string.h>

#include "host/base/path.h"
#include "host/base/units.h"
#include "show/render/render.h"
#include "show/render/text_grid.h"
#include "host/base/text_width.h"

enum {
	INDENT = 2,
	GAP = 2,
	LABEL = 3,
	STACK_INDENT = INDENT + LABEL + GAP + 2,
	FUNCTION_MIN = 24,
	FIELD_VALUE_MAX = 40,
	REMARK_MIN = 20
};

static const char bold[] = "\033[1m", dim[] = "\033[2m", plain[] = "\033[0m";

struct page {
	const struct text_style *style;
	struct strbuf text;
	VEC(u64) stacks; /* numbers of those that were shown: the first is #1 */
};

static void put_styled(struct page *page, const char *code, const char *text)
{
	if (page->style->colour)
		strbuf_add(&page->text, code);
	text_add_clean(&page->text, text);
	if (page->style->colour)
		strbuf_add(&page->text, plain);
}

/* Breaks a text at spaces; the first line begins with `first`, the others are indented as much. */
static void put_wrapped(struct page *page, const char *first, const char *text)
{
	u32 indent = (u32)strlen(first);
	u32 room =
		page->style->width > indent + REMARK_MIN ? page->style->width - indent : UINT32_MAX;

	for (bool begun = false; *text; begun = true) {
		size_t cut = strlen(text);
		struct strbuf line = {0};

		if (cut > room) {
			cut = room;
			while (cut && text[cut] != ' ')
				cut--;
			if (!cut)
				cut = strlen(text);
		}
		strbuf_add_bytes(&line, text, cut);
		if (begun)
			text_pad(&page->text, indent);
		else
			strbuf_add(&page->text, first);
		text_add_clean(&page->text, strbuf_text(&line));
		strbuf_add_char(&page->text, '\n');
		strbuf_release(&line);
		text += cut + (text[cut] == ' ');
	}
}

/* ---- stacks ---- */

static void frame_name(const struct result_frame *frame, u32 columns, struct strbuf *out)
{
	struct strbuf unknown = {0};

	if (*frame->function) {
		text_add_function(out, frame->function, columns);
		return;
	}
	strbuf_addf(&unknown, "%s+0x%" PRIx64, *frame->module ? path_file(frame->module) : "?",
		    frame->offset);
	text_add_cut(out, strbuf_text(&unknown), columns);
	strbuf_release(&unknown);
}

/* file:line, else the module's name; then whether it was inlined and what it stands for. */
static void frame_place(const struct result_frame *frame, u32 columns, struct strbuf *out)
{
	char line[16] = "", rest[32] = "";
	u32 fixed;

	if (frame->line)
		snprintf(line, sizeof line, ":%u", frame->line);
	if (frame->folded)
		snprintf(rest, sizeof rest, "  and %u inside", frame->folded);
	else if (frame->inlined)
		snprintf(rest, sizeof rest, "  inlined");
	if (columns && strlen(line) + strlen(rest) + 3 > columns)
		*rest = 0;
	fixed = (u32)(strlen(line) + strlen(rest));
	if (*frame->file)
		text_add_path(out, frame->file,
			      !columns              ? 0
			      : columns > fixed + 3 ? columns - fixed
						    : 3);
	else if (*frame->function)
		text_add_cut(out, path_file(frame->module), columns);
	if (*frame->file)
		strbuf_add(out, line);
	strbuf_add(out, rest);
}

/* Columns for names: what the longest needs, but at most 60 % of the line. */
static u32 name_columns(const struct result_stack *stack, u32 width)
{
	u32 widest = 0, most = width ? (width - STACK_INDENT) * 3 / 5 : 0;

	for (u32 i = 0; i < stack->count; i++) {
		struct strbuf name = {0};
		u32 columns;

		frame_name(&stack->frames[i], most, &name);
		columns = text_columns(strbuf_text(&name));
		if (columns > widest)
			widest = columns;
		strbuf_release(&name);
	}
	return widest < FUNCTION_MIN ? FUNCTION_MIN : widest;
}

static void put_frame(struct page *page, const struct result_frame *frame, u32 names)
{
	struct strbuf line = {0};
	u32 width = page->style->width, used = STACK_INDENT + names + GAP;

	frame_name(frame, names, &line);
	if (*frame->file || *frame->function) {
		text_pad(&line, names + GAP - text_columns(strbuf_text(&line)));
		frame_place(frame, width > used ? width - used : width ? 16 : 0, &line);
	}
	while (line.count && line.text[line.count - 1] == ' ')
		line.text[--line.count] = 0;
	text_pad(&page->text, STACK_INDENT);
	if (frame->minor)
		put_styled(page, dim, strbuf_text(&line));
	else
		strbuf_add(&page->text, strbuf_text(&line));
	strbuf_add_char(&page->text, '\n');
	strbuf_release(&line);
}

/* Which #label the stack has; 0 = it has none. *seen if it was shown before. */
static u64 stack_label(struct page *page, const struct result_stack *stack, bool *seen)
{
	*seen = false;
	if (!stack->number)
		return 0;
	for (u64 i = 0; i < page->stacks.count; i++)
		if (page->stacks.data[i] == stack->number) {
			*seen = true;
			return i + 1;
		}
	return vec_push(&page->stacks, stack->number) ? page->stacks.count : 0;
}

static void put_stack(struct page *page, const struct result_stack *stack)
{
	u32 names = name_columns(stack, page->style->width);

	for (u32 i = 0; i < stack->count; i++)
		put_frame(page, &stack->frames[i], names);
	if (stack->count == 0) {
		text_pad(&page->text, STACK_INDENT);
		strbuf_add(&page->text, "(no stack was recorded)\n");
	}
	if (stack->hidden) {
		text_pad(&page->text, STACK_INDENT);
		strbuf_addf(&page->text, "… %u more\n", stack->hidden);
	}
}

/* ---- tables ---- */

static bool is_left(enum value_type type)
{
	return type == VALUE_TEXT || type == VALUE_PATH || type == VALUE_BOOL;
}

static bool is_cell(const struct result_column *column)
{
	return column->label && column->type != VALUE_STACK && !column->below;
}

static bool is_stack(const struct result_column *column)
{
	return column->label && column->type == VALUE_STACK;
}

static u32 column_width(const struct result *table, u64 column)
{
	const struct result_column *spec = &table->columns.data[column];
	u32 widest = text_columns(spec->label);

	for (u64 row = 0; row < result_rows(table); row++) {
		struct strbuf cell = {0};
		u32 columns;

		value_format(spec->type, result_cell(table, row, column), &cell);
		columns = text_columns(strbuf_text(&cell));
		if (columns > widest)
			widest = columns;
		strbuf_release(&cell);
	}
	return widest;
}

/* The last shown column, which may run on to the edge. */
static u64 last_cell(const struct result *table)
{
	u64 last = 0;

	for (u64 i = 0; i < table->columns.count; i++)
		if (is_cell(&table->columns.data[i]))
			last = i;
	return last;
}

/* Columns between the line's end and the edge; 0 = no limit. */
static u32 room_left(const struct page *page, const struct strbuf *line)
{
	u32 used = INDENT + text_columns(strbuf_text(line));

	return !page->style->width ? 0 : page->style->width > used ? page->style->width - used : 1;
}

static void cell_format(enum value_type type, const struct value *value, u32 room,
			struct strbuf *out)
{
	if (type == VALUE_PATH && value->known)
		text_add_path(out, value->text, room);
	else
		value_format(type, value, out);
}

/* One line of the table: row, or the labels if row is UINT64_MAX; after `mark` if that is not
 * NULL. */
static void table_line(struct page *page, const struct result *table, const u32 *widths, u64 row,
		       const char *mark)
{
	struct strbuf line = {0};
	u64 last = last_cell(table);

	if (mark)
		text_align(&line, mark, LABEL, true);

	for (u64 i = 0; i < table->columns.count; i++) {
		const struct result_column *spec = &table->columns.data[i];
		struct strbuf cell = {0};

		if (!is_cell(spec))
			continue;
		text_pad(&line, line.count ? GAP : 0);
		if (row == UINT64_MAX)
			strbuf_add(&cell, spec->label);
		else
			cell_format(spec->type, result_cell(table, row, i),
				    i == last ? room_left(page, &line) : 0, &cell);
		text_align(&line, strbuf_text(&cell),
			   i == last && is_left(spec->type) ? 0 : widths[i], is_left(spec->type));
		strbuf_release(&cell);
	}
	text_pad(&page->text, INDENT);
	if (row == UINT64_MAX) {
		put_styled(page, dim, strbuf_text(&line));
	} else {
		u32 width = page->style->width;

		text_add_cut(&page->text, strbuf_text(&line), width > INDENT ? width - INDENT : 0);
	}
	strbuf_add_char(&page->text, '\n');
	strbuf_release(&line);
}

static void put_stack_as_above(struct page *page, const char *mark)
{
	text_pad(&page->text, STACK_INDENT);
	put_styled(page, dim, "stack as above, ");
	strbuf_addf(&page->text, "%s\n", mark);
}

/* Further stacks of a row: each below its column's label. */
static void put_named_stack(struct page *page, const struct result_column *spec,
			    const struct value *value)
{
	char mark[24] = "";
	bool seen = false;
	u64 label;

	if (!value->known)
		return;
	label = stack_label(page, value->stack, &seen);
	if (label)
		snprintf(mark, sizeof mark, "#%" PRIu64, label);
	text_pad(&page->text, INDENT);
	put_styled(page, dim, spec->label);
	strbuf_addf(&page->text, " %s\n", mark);
	if (seen)
		put_stack_as_above(page, mark);
	else
		put_stack(page, value->stack);
}

/* Sentences about the row. */
static void put_below(struct page *page, const struct result *table, u64 row)
{
	for (u64 i = 0; i < table->columns.count; i++) {
		const struct value *value = result_cell(table, row, i);

		if (table->columns.data[i].below && table->columns.data[i].label && value->known)
			put_wrapped(page, "       ", value->text);
	}
}

/* column is the first one that holds stacks. */
static void put_stack_row(struct page *page, const struct result *table, const u32 *widths, u64 row,
			  u64 column)
{
	const struct value *value = result_cell(table, row, column);
	char mark[24] = "";
	bool seen = false;
	u64 label = value->known ? stack_label(page, value->stack, &seen) : 0;

	if (label)
		snprintf(mark, sizeof mark, "#%" PRIu64, label);
	table_line(page, table, widths, row, mark);
	put_below(page, table, row);
	if (seen)
		put_stack_as_above(page, mark);
	else if (value->known)
		put_stack(page, value->stack);
	for (u64 i = column + 1; i < table->columns.count; i++)
		if (is_stack(&table->columns.data[i]))
			put_named_stack(page, &table->columns.data[i], result_cell(table, row, i));
	if (row + 1 < result_rows(table))
		strbuf_add_char(&page->text, '\n');
}

static void put_table(struct page *page, const struct result *table)
{
	u32 *widths = calloc(table->columns.count + 1, sizeof *widths);
	u64 stack = UINT64_MAX;

	if (!widths) {
		page->text.failed = true;
		return;
	}
	for (u64 i = 0; i < table->columns.count; i++) {
		if (is_cell(&table->columns.data[i]))
			widths[i] = column_width(table, i);
		else if (is_stack(&table->columns.data[i]) && stack == UINT64_MAX)
			stack = i;
	}
	table_line(page, table, widths, UINT64_MAX, stack == UINT64_MAX ? NULL : "");
	for (u64 row = 0; row < result_rows(table); row++) {
		if (stack != UINT64_MAX) {
			put_stack_row(page, table, widths, row, stack);
			continue;
		}
		table_line(page, table, widths, row, NULL);
		put_below(page, table, row);
	}
	free(widths);
}

/* ---- records ---- */

static bool field_shown(const struct result *record, u64 i)
{
	const struct result_column *column = &record->columns.data[i];
	const struct value *value = result_cell(record, 0, i);

	if (!column->label || !value->known)
		return false;
	return !column->hide_zero || value->number != 0;
}

/* The field that name[0..bytes) names, or the number of fields. */
static u64 field_find(const struct result *record, const char *name, size_t bytes)
{
	u64 i = 0;

	while (i < record->columns.count &&
	       (strlen(record->columns.data[i].name) != bytes ||
		strncmp(record->columns.data[i].name, name, bytes) != 0))
		i++;
	return i;
}

/* Appends what {name} or {name:noun} stands for, the noun in its number; false if it is unknown. */
static bool fill_name(const struct result *record, const char *name, size_t bytes,
		      struct strbuf *out)
{
	const char *colon = memchr(name, ':', bytes);
	size_t name_bytes = colon ? (size_t)(colon - name) : bytes;
	u64 i = field_find(record, name, name_bytes);

	if (i == record->columns.count || !result_cell(record, 0, i)->known)
		return false;
	value_format(record->columns.data[i].type, result_cell(record, 0, i), out);
	if (colon) {
		strbuf_add_char(out, ' ');
		strbuf_add_bytes(out, colon + 1, bytes - name_bytes - 1);
		strbuf_add(out, result_cell(record, 0, i)->number == 1 ? "" : "s");
	}
	return true;
}

/* Appends the remark with its {names} filled in; false, and nothing, if one is unknown. */
static bool fill_remark(const struct result *record, const char *remark, struct strbuf *out)
{
	u64 start = out->count;

	while (*remark) {
		size_t before = strcspn(remark, "{"), bytes;

		strbuf_add_bytes(out, remark, before);
		remark += before;
		if (!*remark)
			break;
		bytes = strcspn(remark + 1, "}");
		if (!fill_name(record, remark + 1, bytes, out)) {
			if (out->text)
				out->text[out->count = start] = 0;
			return false;
		}
		remark += 1 + bytes + (remark[1 + bytes] == '}');
	}
	return true;
}

static bool has_remark(const struct result_column *column)
{
	return column->remark && *column->remark;
}

struct section {
	u64 first, end; /* fields */
	u32 labels, values;
	bool left; /* has texts: values are aligned at the left */
	bool shown;
};

static struct section section_measure(const struct result *record, u64 first)
{
	struct section self = {.first = first, .end = first};

	for (; self.end < record->columns.count; self.end++) {
		const struct result_column *column = &record->columns.data[self.end];
		struct strbuf text = {0};
		u32 columns;

		if (self.end > first && column->section)
			break;
		if (!field_shown(record, self.end))
			continue;
		self.shown = true;
		self.left |= is_left(column->type);
		if (text_columns(column->label) > self.labels)
			self.labels = text_columns(column->label);
		if (is_left(column->type) && !has_remark(column)) /* runs on to the edge */
			continue;
		value_format(column->type, result_cell(record, 0, self.end), &text);
		columns = text_columns(strbuf_text(&text));
		strbuf_release(&text);
		if (columns > self.values && columns <= FIELD_VALUE_MAX)
			self.values = columns;
	}
	return self;
}

static void put_field(struct page *page, const struct result *record, u64 i,
		      const struct section *section)
{
	const struct result_column *column = &record->columns.data[i];
	struct strbuf line = {0}, value = {0}, remark = {0};
	struct things_text words = {""};
	u32 width = page->style->width;

	text_pad(&line, INDENT);
	text_align(&line, column->label, section->labels, true);
	text_pad(&line, GAP);
	value_format(column->type, result_cell(record, 0, i), &value);
	if (has_remark(column) && fill_remark(record, column->remark, &remark)) {
		text_align(&line, strbuf_text(&value), section->values, section->left);
		text_pad(&line, GAP);
		words = units_words(result_cell(record, 0, i)->number, strbuf_text(&remark));
	} else if (!column->below) {
		text_align(&line, strbuf_text(&value), section->left ? 0 : section->values,
			   section->left);
	}
	if (column->below) {
		put_wrapped(page, strbuf_text(&line), strbuf_text(&value));
	} else if (*words.text && text_columns(strbuf_text(&line)) + REMARK_MIN < width) {
		put_wrapped(page, strbuf_text(&line), words.text);
	} else {
		strbuf_add(&line, words.text);
		text_add_cut(&page->text, strbuf_text(&line), width);
		strbuf_add_char(&page->text, '\n');
	}
	strbuf_release(&line);
	strbuf_release(&value);
	strbuf_release(&remark);
}

static void put_record(struct page *page, const struct result *record)
{
	for (u64 first = 0; first < record->columns.count;) {
		struct section section = section_measure(record, first);
		const char *title = record->columns.data[first].section;

		if (section.shown && title) {
			if (first > 0)
				strbuf_add_char(&page->text, '\n');
			if (*title) {
				put_styled(page, bold, title);
				strbuf_add_char(&page->text, '\n');
			}
		}
		for (u64 i = section.first; i < section.end; i++)
			if (field_shown(record, i))
				put_field(page, record, i, &section);
		first = section.end;
	}
}

/* ---- the whole ---- */

static void put_result(struct page *page, const struct result *result)
{
	if (result->title && *result->title) {
		put_styled(page, bold, result->title);
		strbuf_add_char(&page->text, '\n');
	}
	if (result->shape == RESULT_RECORD) {
		put_record(page, result);
	} else if (result_rows(result) == 0) {
		strbuf_addf(&page->text, "  %s\n", result->empty ? result->empty : "none");
	} else if (result->grid) {
		text_grid(result, page->style->width, &page->text);
	} else {
		put_table(page, result);
	}
	if (result->caveats.count && result->columns.count)
		strbuf_add_char(&page->text, '\n');
	for (u64 i = 0; i < result->caveats.count; i++)
		put_wrapped(page, "  ! ", result->caveats.data[i]);
	for (u64 i = 0; i < result->parts.count; i++) {
		if (result->parts.data[i]->hidden_in_text)
			continue;
		strbuf_add(&page->text, page->text.count ? "\n" : "");
		put_result(page, result->parts.data[i]);
	}
}

void render_text(const struct result *result, const struct text_style *style, FILE *out)
{
	struct page page = {.style = style};

	put_result(&page, result);
	if (page.text.failed)
		fputs("out of memory while rendering\n", out);
	else
		fwrite(page.text.text, 1, page.text.count, out);
	strbuf_release(&page.text);
	vec_release(&page.stacks);
}
