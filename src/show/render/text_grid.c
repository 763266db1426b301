/* SPDX-License-Identifier: MIT
 * Lays out a grid: see struct result and struct result_column.
 * Host. Texts come from traces: they are made harmless, and never cut where that would lose a
 * name. */
#include "show/render/text_grid.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/path.h"
#include "show/render/render.h"
#include "host/base/text_width.h"

enum { INDENT = 2, NAME_MIN = 24, PERCENT = 3 };
static const char gap[] = "  ";

/* A column that is shown. */
struct lane {
	u64 column;
	const struct result_column *spec;
	const char *joint; /* before it; "" for the first */
	u32 width;
	bool left;
};

struct grid {
	const struct result *table;
	u32 width;
	struct strbuf *out;
	struct lane *lanes;
	u32 count;
	u32 over_lines;
	struct strbuf line, cell;
};

/* ---- cells ---- */

static void put_percent(struct strbuf *out, double share, enum value_look look)
{
	/* Whole percents are cut, not rounded: 100 means all. The tiny amount is for shares that
	 * are whole but for the last bit. */
	u32 percent = share > 0 ? (u32)(share * 100 + 1e-9) : 0;

	if (look == LOOK_TENTHS)
		strbuf_addf(out, "%.1f", share * 100);
	else if (percent == 0 && look != LOOK_BRACKETS_ALL)
		return;
	else if (look == LOOK_PERCENT)
		strbuf_addf(out, "%u", percent);
	else
		strbuf_addf(out, "(%u)", percent);
}

/* name_columns limits each function's name; 0 = no limit. */
static void put_path(struct strbuf *out, const struct result_stack *stack, u32 name_columns)
{
	if (stack->hidden)
		strbuf_add(out, "... > ");
	for (u32 i = stack->count; i-- > 0;) {
		const struct result_frame *frame = &stack->frames[i];

		if (*frame->function) {
			text_add_function(out, frame->function, name_columns);
		} else {
			text_add_clean(out, path_file(frame->module));
			strbuf_addf(out, "+0x%" PRIx64, frame->offset);
		}
		strbuf_add(out, i ? " > " : "");
	}
}

/* Names become shorter until the path fits, but none is left out. */
static void fit_path(struct strbuf *out, const struct result_stack *stack, u32 room)
{
	static const u32 limits[] = {0, 64, 48, 32, NAME_MIN};
	struct strbuf path = {0};

	for (u32 i = 0; i < sizeof limits / sizeof *limits; i++) {
		strbuf_clear(&path);
		put_path(&path, stack, limits[i]);
		if (!room || text_columns(strbuf_text(&path)) <= room)
			break;
	}
	strbuf_add(out, strbuf_text(&path));
	strbuf_release(&path);
}

static void format_cell(struct grid *self, u64 row, const struct lane *lane, u32 room)
{
	const struct value *value = result_cell(self->table, row, lane->column);
	struct strbuf *out = &self->cell;

	strbuf_clear(out);
	if (value->shown) {
		text_add_clean(out, value->shown);
		return;
	}
	if (!value->known)
		return;
	switch (lane->spec->look) {
	case LOOK_UNITS: value_format(lane->spec->type, value, out); break;
	case LOOK_PLAIN: strbuf_addf(out, "%" PRIu64, value->number); break;
	case LOOK_TENTHS:
	case LOOK_PERCENT:
	case LOOK_BRACKETS:
	case LOOK_BRACKETS_ALL: put_percent(out, value->real, lane->spec->look); break;
	case LOOK_PATH: fit_path(out, value->stack, room); break;
	}
}

/* ---- lines ---- */

static u32 line_columns(const struct grid *self) { return text_columns(strbuf_text(&self->line)); }

void text_align(struct strbuf *line, const char *text, u32 width, bool left)
{
	u32 columns = text_columns(text), pad = columns < width ? width - columns : 0;

	if (!left)
		text_pad(line, pad);
	strbuf_add(line, text);
	if (left)
		text_pad(line, pad);
}

static bool is_firm(const char *joint) { return strchr(joint, ' ') != NULL; }

static void put_joint(struct grid *self, const char *joint, bool filled)
{
	if (filled || is_firm(joint))
		strbuf_add(&self->line, joint);
	else
		text_pad(&self->line, text_columns(joint));
}

static void end_line(struct grid *self)
{
	struct strbuf *line = &self->line;

	while (line->count && line->text[line->count - 1] == ' ')
		line->text[--line->count] = 0;
	if (line->count)
		text_pad(self->out, INDENT);
	strbuf_add(self->out, strbuf_text(line));
	strbuf_add_char(self->out, '\n');
	strbuf_clear(line);
}

static void put_row(struct grid *self, u64 row)
{
	for (u32 i = 0; i < self->count; i++) {
		const struct lane *lane = &self->lanes[i];
		bool last = i + 1 == self->count;
		u32 used = INDENT + line_columns(self);

		format_cell(self, row, lane,
			    !self->width || self->width <= used ? 0 : self->width - used);
		put_joint(self, lane->joint, self->cell.count > 0);
		text_align(&self->line, strbuf_text(&self->cell),
			   last && lane->left ? 0 : lane->width, lane->left);
	}
	end_line(self);
}

static void put_labels(struct grid *self)
{
	for (u32 i = 0; i < self->count; i++) {
		const struct lane *lane = &self->lanes[i];

		put_joint(self, lane->joint, *lane->spec->label != 0);
		text_align(&self->line, lane->spec->label, lane->width, lane->left);
	}
	end_line(self);
}

static void put_rule(struct grid *self)
{
	for (u32 i = 0; i < self->count; i++) {
		const struct lane *lane = &self->lanes[i];
		bool named = lane->spec->look == LOOK_PERCENT;
		u32 fill = text_columns(lane->joint) + lane->width;

		fill -= named ? text_columns(lane->spec->label) : 0;
		while (fill--)
			strbuf_add_char(&self->line, '-');
		strbuf_add(&self->line, named ? lane->spec->label : "");
	}
	end_line(self);
}

/* ---- headings over several columns ---- */

static bool same_over(const struct lane *a, const struct lane *b)
{
	return a->spec->over && b->spec->over && strcmp(a->spec->over, b->spec->over) == 0;
}

/* The first lane after the group of lane i, and the columns that the group takes. */
static u32 group_end(const struct grid *self, u32 i, u32 *columns)
{
	u32 end = i + 1;

	*columns = self->lanes[i].width;
	for (; end < self->count && same_over(&self->lanes[i], &self->lanes[end]); end++)
		*columns += text_columns(self->lanes[end].joint) + self->lanes[end].width;
	return end;
}

/* Line n of a heading, counted from the bottom. */
static void over_line(const char *over, u32 n, struct strbuf *out)
{
	const char *end = over + strlen(over), *start;

	strbuf_clear(out);
	for (;; n--) {
		for (start = end; start > over && start[-1] != '\n'; start--)
			;
		if (n == 0)
			break;
		if (start == over)
			return;
		end = start - 1;
	}
	strbuf_add_bytes(out, start, (u64)(end - start));
}

static void put_overs(struct grid *self, u32 n)
{
	for (u32 i = 0, end; i < self->count; i = end) {
		const char *over = self->lanes[i].spec->over;
		u32 columns;

		end = group_end(self, i, &columns);
		put_joint(self, self->lanes[i].joint, false);
		over_line(over ? over : "", n, &self->cell);
		text_align(&self->line, strbuf_text(&self->cell), columns,
			   end > i + 1 || self->lanes[i].left);
	}
	end_line(self);
}

/* Counts heading lines, and widens the first column of a group that is narrower than its own. */
static void measure_overs(struct grid *self)
{
	for (u32 i = 0, end; i < self->count; i = end) {
		const char *over = self->lanes[i].spec->over;
		u32 columns, lines = over ? 1 : 0;

		end = group_end(self, i, &columns);
		for (const char *p = over; p && (p = strchr(p, '\n')) != NULL; p++)
			lines++;
		if (lines > self->over_lines)
			self->over_lines = lines;
		for (u32 n = 0; n < lines; n++) {
			u32 wanted;

			over_line(over, n, &self->cell);
			wanted = text_columns(strbuf_text(&self->cell));
			if (wanted > columns) {
				self->lanes[i].width += wanted - columns;
				columns = wanted;
			}
		}
	}
}

/* ---- the whole ---- */

static bool is_left(const struct result_column *spec)
{
	return spec->type == VALUE_TEXT || spec->type == VALUE_PATH || spec->type == VALUE_STACK ||
	       (spec->joint && !is_firm(spec->joint));
}

static bool find_lanes(struct grid *self)
{
	const struct result *table = self->table;

	self->lanes = calloc(table->columns.count + 1, sizeof *self->lanes);
	for (u64 i = 0; self->lanes && i < table->columns.count; i++) {
		const struct result_column *spec = &table->columns.data[i];
		struct lane lane = {.column = i, .spec = spec, .joint = ""};

		if (!spec->label)
			continue;
		lane.left = is_left(spec);
		if (self->count)
			lane.joint = spec->joint ? spec->joint : gap;
		self->lanes[self->count++] = lane;
	}
	return self->count > 0;
}

static void measure_lanes(struct grid *self)
{
	for (u32 i = 0; i < self->count; i++) {
		struct lane *lane = &self->lanes[i];

		lane->width = text_columns(lane->spec->label);
		if (lane->spec->look == LOOK_PERCENT) /* so that groups look alike */
			lane->width = PERCENT;
		if (i + 1 == self->count && lane->left)
			continue;
		for (u64 row = 0; row < result_rows(self->table); row++) {
			u32 columns;

			format_cell(self, row, lane, 0);
			columns = text_columns(strbuf_text(&self->cell));
			if (columns > lane->width)
				lane->width = columns;
		}
	}
}

static bool rule_before(const struct result *table, u64 row)
{
	u64 column = table->rule_by - 1;

	return table->rule_by && row &&
	       result_cell(table, row, column)->number !=
		       result_cell(table, row - 1, column)->number;
}

void text_grid(const struct result *table, u32 width, struct strbuf *out)
{
	struct grid self = {.table = table, .width = width, .out = out};

	if (!find_lanes(&self)) {
		out->failed = true;
		goto done;
	}
	measure_lanes(&self);
	measure_overs(&self);
	for (u32 n = self.over_lines; n-- > 0;)
		put_overs(&self, n);
	put_labels(&self);
	for (u64 row = 0; row < result_rows(table); row++) {
		if (rule_before(table, row))
			put_rule(&self);
		put_row(&self, row);
	}
	out->failed |= self.line.failed || self.cell.failed;
done:
	strbuf_release(&self.line);
	strbuf_release(&self.cell);
	free(self.lanes);
}
