/* SPDX-License-Identifier: MIT
 * Diagrams of dots and horizontal lines, for the terminal and as SVG. */
#ifndef STUDY_RESULT_CHART_H
#define STUDY_RESULT_CHART_H

#include <stdio.h>

#include "host/base/strbuf.h"

struct chart_dot {
	double x, y;       /* finite; above 0 on a logarithmic axis */
	u32 group;         /* from 0: a letter in text, a colour and a shape in SVG */
	bool marked;       /* what the diagram is about */
	const char *label; /* of a marked dot; may be NULL */
};

struct chart_line {
	double y;
	const char *label;
};

struct chart {
	const char *title;
	const char *x_label, *y_label;
	bool log_x, log_y;
	const char *group_name; /* what groups are called: "cluster"; NULL = they have no meaning */
	const char *mark_name;  /* what marked dots are called: "excessive" */
	const struct chart_dot *dots;
	u64 count;
	const struct chart_line *lines;
	u32 line_count;
};

/* Appends the diagram in plain characters, at most `width` columns (0 = 100). Groups are 1, 2 … 9,
 * a, b …; marked dots are #, also where others share their place. */
void chart_text(const struct chart *self, u32 width, struct strbuf *out);

/* One SVG document with the diagrams below each other. Dots that would cover each other are drawn
 * once. false if it cannot be written, or there is no memory. */
bool chart_svg(const struct chart *charts, u32 count, FILE *out);

/* ---- for both ---- */

/* An axis from low to high, whose ticks are round numbers. */
struct chart_axis {
	double low, high;
	bool log;
};

struct chart_axis chart_axis_x(const struct chart *self);
struct chart_axis chart_axis_y(const struct chart *self);

/* Where a value is: 0 = low, 1 = high. */
double chart_place(const struct chart_axis *axis, double value);

/* Calls for each tick: start with *at = 0; false at the end. */
bool chart_tick(const struct chart_axis *axis, u32 *at, double *value);

/* "0.001", "20", "1e+06" */
void chart_number(double value, char text[24]);

#endif
