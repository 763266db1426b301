/* SPDX-License-Identifier: MIT
 * Diagrams in the terminal.
 * Host. Plain ASCII: it survives logs and mails. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/result/chart.h"
#include "host/base/text_width.h"

enum { ROWS = 18, SCALE = 10, WIDTH = 100, WIDTH_MAX = 110, WIDTH_MIN = 40 };

struct canvas {
	const struct chart *chart;
	struct chart_axis x, y;
	u32 columns;
	char *cells; /* ROWS × columns, the top first */
};

static char *cell(const struct canvas *self, double x, double y)
{
	u32 column = (u32)lround(chart_place(&self->x, x) * (self->columns - 1));
	u32 row = (u32)lround((1 - chart_place(&self->y, y)) * (ROWS - 1));

	return &self->cells[row * self->columns + column];
}

static char group_sign(u32 group)
{
	static const char signs[] = "123456789abcdefghijklmnopqrstuvwxyz";

	return group < sizeof signs - 1 ? signs[group] : '+';
}

static bool has_line(const struct chart *chart, u32 i)
{
	return !chart->log_y || chart->lines[i].y > 0;
}

static void draw(struct canvas *self)
{
	const struct chart *chart = self->chart;

	memset(self->cells, ' ', (size_t)ROWS * self->columns);
	for (u32 i = 0; i < chart->line_count; i++)
		if (has_line(chart, i))
			memset(cell(self, self->x.low, chart->lines[i].y), '-', self->columns);
	for (u64 i = 0; i < chart->count; i++) {
		char *at = cell(self, chart->dots[i].x, chart->dots[i].y);

		if (chart->dots[i].marked)
			*at = '#';
		else if (*at != '#')
			*at = chart->group_name ? group_sign(chart->dots[i].group) : 'o';
	}
}

/* The number that belongs to a row, or nothing. */
static void row_number(const struct canvas *self, u32 row, char text[24])
{
	double value;

	*text = 0;
	for (u32 at = 0; chart_tick(&self->y, &at, &value);)
		if ((u32)lround((1 - chart_place(&self->y, value)) * (ROWS - 1)) == row)
			chart_number(value, text);
}

static const char *line_label(const struct canvas *self, u32 row)
{
	const struct chart *chart = self->chart;

	for (u32 i = 0; i < chart->line_count; i++)
		if (has_line(chart, i) &&
		    (u32)lround((1 - chart_place(&self->y, chart->lines[i].y)) * (ROWS - 1)) == row)
			return chart->lines[i].label;
	return NULL;
}

static void put_row(const struct canvas *self, u32 row, struct strbuf *out)
{
	const char *cells = &self->cells[row * self->columns], *label = line_label(self, row);
	u32 end = self->columns;
	char number[24];

	row_number(self, row, number);
	while (end && cells[end - 1] == ' ')
		end--;
	strbuf_addf(out, "%*s %c", SCALE, number, *number ? '+' : '|');
	strbuf_add_bytes(out, cells, end);
	if (label)
		strbuf_addf(out, " %s", label);
	strbuf_add_char(out, '\n');
}

static void put_x_axis(const struct canvas *self, struct strbuf *out)
{
	u32 from = out->count, used = 0;
	double value;

	strbuf_addf(out, "%*s +", SCALE, "");
	for (u32 i = 0; i < self->columns; i++)
		strbuf_add_char(out, '-');
	for (u32 at = 0; out->text && chart_tick(&self->x, &at, &value);)
		out->text[from + SCALE + 2 +
			  (u64)lround(chart_place(&self->x, value) * (self->columns - 1))] = '+';
	strbuf_addf(out, "\n%*s", SCALE + 2, "");
	for (u32 at = 0; chart_tick(&self->x, &at, &value);) {
		u32 column = (u32)lround(chart_place(&self->x, value) * (self->columns - 1));
		char number[24];

		chart_number(value, number);
		if (column < used || (used && column == used))
			continue;
		text_pad(out, column - used);
		strbuf_add(out, number);
		used = column + (u32)strlen(number);
	}
	strbuf_addf(out, "\n%*s  %s", SCALE, "", self->chart->x_label);
}

static void put_legend(const struct chart *chart, struct strbuf *out)
{
	bool marked = false;

	for (u64 i = 0; i < chart->count && !marked; i++)
		marked = chart->dots[i].marked;
	if (chart->group_name)
		strbuf_addf(out, "      1, 2 ... = %s", chart->group_name);
	if (marked)
		strbuf_addf(out, "      # = %s", chart->mark_name);
	strbuf_add_char(out, '\n');
}

void chart_text(const struct chart *self, u32 width, struct strbuf *out)
{
	struct canvas canvas = {.chart = self, .x = chart_axis_x(self), .y = chart_axis_y(self)};
	u32 labels = 0;

	for (u32 i = 0; i < self->line_count; i++)
		if (text_columns(self->lines[i].label) + 1 > labels)
			labels = text_columns(self->lines[i].label) + 1;
	width = !width ? WIDTH : width > WIDTH_MAX ? WIDTH_MAX : width;
	canvas.columns =
		width > SCALE + 3 + labels + WIDTH_MIN ? width - SCALE - 3 - labels : WIDTH_MIN;
	canvas.cells = malloc((size_t)ROWS * canvas.columns);
	if (!canvas.cells) {
		out->failed = true;
		return;
	}
	draw(&canvas);
	strbuf_addf(out, "%s\n%*s  %s\n", self->title, SCALE, "", self->y_label);
	for (u32 row = 0; row < ROWS; row++)
		put_row(&canvas, row, out);
	put_x_axis(&canvas, out);
	put_legend(self, out);
	free(canvas.cells);
}
