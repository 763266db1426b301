/* SPDX-License-Identifier: MIT
 * Diagrams as SVG.
 * Host. No script, no font, no link: one file that any viewer shows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/result/chart.h"
#include "host/base/text.h"
#include "host/base/text_width.h"

enum {
	WIDTH = 900,
	HEIGHT = 460, /* of one diagram */
	LEFT = 90,
	RIGHT = 150,
	TOP = 50,
	BOTTOM = 60,
	GRID = 2, /* dots nearer than this many units are one */
	LABELS_MAX = 12,
	LABEL_HEIGHT = 14,
	RING = 8,   /* around a marked dot */
	LETTER = 7, /* of a label, at most on average */
};

/* Told apart also without colour, by their shapes. Okabe and Ito's colours. */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
				      "#56b4e9", "#d55e00", "#999999", "#000000"};
enum { COLOURS = sizeof colours / sizeof *colours, SHAPES = 4 };

struct plot {
	const struct chart *chart;
	struct chart_axis x, y;
	double top; /* of the diagram in the document */
	FILE *out;
	struct label {
		double left, right, y;
	} labels[LABELS_MAX]; /* that are printed */
	u32 label_count;
};

static double at_x(const struct plot *self, double x)
{
	return LEFT + chart_place(&self->x, x) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct plot *self, double y)
{
	return self->top + HEIGHT - BOTTOM - chart_place(&self->y, y) * (HEIGHT - TOP - BOTTOM);
}

static void put_text(const struct plot *self, double x, double y, const char *extra,
		     const char *text)
{
	fprintf(self->out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, extra);
	text_put_xml(self->out, text);
	fputs("</text>\n", self->out);
}

static void put_axes(const struct plot *self)
{
	double left = LEFT, right = WIDTH - RIGHT, top = self->top + TOP,
	       bottom = self->top + HEIGHT - BOTTOM, value;
	char number[24];

	put_text(self, LEFT, self->top + 26, " font-size=\"17\" font-weight=\"bold\"",
		 self->chart->title);
	fprintf(self->out, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333\"/>\n",
		left, top, bottom, right);
	for (u32 at = 0; chart_tick(&self->x, &at, &value);) {
		chart_number(value, number);
		fprintf(self->out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n",
			at_x(self, value), top, bottom);
		put_text(self, at_x(self, value), bottom + 18, " text-anchor=\"middle\"", number);
	}
	for (u32 at = 0; chart_tick(&self->y, &at, &value);) {
		chart_number(value, number);
		fprintf(self->out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", left,
			at_y(self, value), right);
		put_text(self, left - 8, at_y(self, value) + 4, " text-anchor=\"end\"", number);
	}
	put_text(self, (left + right) / 2, bottom + 42, " text-anchor=\"middle\"",
		 self->chart->x_label);
	put_text(self, left - 70, top - 10, "", self->chart->y_label);
}

/* Their names one above the other where the lines are close. */
static void put_lines(const struct plot *self)
{
	double last = 0;

	for (u32 i = 0; i < self->chart->line_count; i++) {
		const struct chart_line *line = &self->chart->lines[i];
		double y;

		if (self->chart->log_y && !(line->y > 0))
			continue;
		fprintf(self->out,
			"<path d=\"M%d %.1fH%d\" stroke=\"#d55e00\" stroke-dasharray=\"6 4\"/>\n",
			LEFT, at_y(self, line->y), WIDTH - RIGHT);
		y = at_y(self, line->y) + 4;
		y = i && fabs(y - last) < LABEL_HEIGHT ? last - LABEL_HEIGHT : y;
		put_text(self, WIDTH - RIGHT + 6, y, " fill=\"#a04000\"", line->label);
		last = y;
	}
}

static void put_shape(const struct plot *self, double x, double y, u32 group)
{
	const char *colour = colours[group % COLOURS];

	switch (group % SHAPES) {
	case 0: fprintf(self->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"", x, y); break;
	case 1:
		fprintf(self->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\"", x - 3,
			y - 3);
		break;
	case 2: fprintf(self->out, "<path d=\"M%.1f %.1fl4 7h-8z\"", x, y - 4); break;
	default: fprintf(self->out, "<path d=\"M%.1f %.1fl4 4l-4 4l-4 -4z\"", x, y - 4); break;
	}
	fprintf(self->out, " fill=\"%s\" fill-opacity=\"0.75\"/>\n", colour);
}

static bool is_free(const struct plot *self, const struct label *place)
{
	bool unused = place->y > self->top + TOP && place->y < self->top + HEIGHT - BOTTOM;

	for (u32 i = 0; i < self->label_count && unused; i++) {
		const struct label *other = &self->labels[i];

		unused = place->left >= other->right || place->right <= other->left ||
			 fabs(place->y - other->y) >= LABEL_HEIGHT;
	}
	for (u64 i = 0; i < self->chart->count && unused; i++) {
		const struct chart_dot *dot = &self->chart->dots[i];
		double x = at_x(self, dot->x), y = at_y(self, dot->y);

		unused = !dot->marked || x < place->left - RING || x > place->right + RING ||
			 y < place->y - LABEL_HEIGHT - RING || y > place->y + RING;
	}
	return unused;
}

/* Beside the dot, or some lines higher or lower with a line to it; where all that is taken the dot
 * has its name under the pointer only. */
static void put_label(struct plot *self, double x, double y, const char *label)
{
	enum { STEPS = 40 };
	struct strbuf name = {0};
	bool right = x > (WIDTH - RIGHT + LEFT) * 0.6;
	double width;

	text_add_cut(&name, label, 48);
	width = LETTER * (double)text_columns(strbuf_text(&name));
	for (u32 i = 0; i < STEPS && self->label_count < LABELS_MAX; i++) {
		double from = right ? x - 12 : x + 12;
		int shift = (int)((i + 1) / 2) * (i % 2 ? LABEL_HEIGHT : -LABEL_HEIGHT);
		struct label place = {right ? from - width : from, right ? from : from + width,
				      y + 4 + shift};

		if (!is_free(self, &place))
			continue;
		self->labels[self->label_count++] = place;
		if (i)
			fprintf(self->out, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#c99\"/>\n",
				x, y, from, y + shift);
		put_text(self, from, place.y, right ? " text-anchor=\"end\"" : "",
			 strbuf_text(&name));
		break;
	}
	strbuf_release(&name);
}

static void put_marked(struct plot *self, const struct chart_dot *dot)
{
	double x = at_x(self, dot->x), y = at_y(self, dot->y);

	fprintf(self->out,
		"<g><circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"none\" stroke=\"#c00\" "
		"stroke-width=\"2\"/>",
		x, y, RING);
	if (dot->label) {
		fputs("<title>", self->out);
		text_put_xml(self->out, dot->label);
		fputs("</title>", self->out);
	}
	fputs("</g>\n", self->out);
	if (dot->label)
		put_label(self, x, y, dot->label);
}

/* A million dots make no better picture than those that do not hide each other. */
static bool put_dots(struct plot *self)
{
	u32 columns = WIDTH / GRID + 1, rows = HEIGHT / GRID + 1;
	u8 *taken = calloc(columns, rows);
	const struct chart *chart = self->chart;

	if (!taken)
		return false;
	for (u64 i = 0; i < chart->count; i++) {
		double x = at_x(self, chart->dots[i].x), y = at_y(self, chart->dots[i].y);
		u8 *cell = &taken[(u32)((y - self->top) / GRID) * columns + (u32)(x / GRID)];
		u8 group = (u8)(1 + chart->dots[i].group % 128);

		if (*cell != group)
			put_shape(self, x, y, chart->dots[i].group);
		*cell = group;
	}
	memset(taken, 0, (size_t)columns * rows);
	for (u64 i = 0; i < chart->count; i++) {
		const struct chart_dot *dot = &chart->dots[i];
		double x = at_x(self, dot->x), y = at_y(self, dot->y) - self->top;
		u8 *cell = &taken[(u32)(y / GRID) * columns + (u32)(x / GRID)];

		if (!dot->marked || *cell)
			continue;
		*cell = 1;
		put_marked(self, dot);
	}
	free(taken);
	return true;
}

static void put_legend(const struct plot *self)
{
	u32 most = 0;

	for (u64 i = 0; i < self->chart->count; i++)
		if (self->chart->dots[i].group > most)
			most = self->chart->dots[i].group;
	for (u32 group = 0; self->chart->group_name && group <= most && group < 16; group++) {
		double y = self->top + TOP + 20 + 18 * group;
		char text[64];

		put_shape(self, WIDTH - RIGHT + 20, y, group);
		snprintf(text, sizeof text, "%s %u", self->chart->group_name, group + 1);
		put_text(self, WIDTH - RIGHT + 32, y + 4, "", text);
	}
}

bool chart_svg(const struct chart *charts, u32 count, FILE *out)
{
	bool whole = true;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
		"height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, count * HEIGHT, WIDTH, count * HEIGHT);
	for (u32 i = 0; i < count; i++) {
		struct plot plot = {.chart = &charts[i],
				    .x = chart_axis_x(&charts[i]),
				    .y = chart_axis_y(&charts[i]),
				    .top = (double)i * HEIGHT,
				    .out = out};

		put_axes(&plot);
		put_lines(&plot);
		whole &= put_dots(&plot);
		put_legend(&plot);
	}
	fputs("</svg>\n", out);
	return whole && !ferror(out);
}
