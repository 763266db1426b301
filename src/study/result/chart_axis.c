/* SPDX-License-Identifier: MIT
 * Axes of diagrams: ranges and round ticks.
 * Host. */
#include <math.h>

#include "study/result/chart.h"

enum { TICKS = 5 };

/* The range in whole decades, or from 0 on with a little room. */
static struct chart_axis axis_of(double low, double high, bool log)
{
	struct chart_axis self = {.log = log};

	if (!(low <= high))
		low = high = 1;
	if (log) {
		self.low = pow(10, floor(log10(low) + 1e-9));
		self.high = pow(10, ceil(log10(high) - 1e-9));
		if (self.high <= self.low)
			self.high = self.low * 10;
		return self;
	}
	self.low = low < 0 ? low : 0;
	self.high = high > self.low ? high + (high - self.low) / 50 : self.low + 1;
	return self;
}

static struct chart_axis axis_along(const struct chart *self, bool y, bool log)
{
	double low = INFINITY, high = -INFINITY;

	for (u64 i = 0; i < self->count; i++) {
		double value = y ? self->dots[i].y : self->dots[i].x;

		low = fmin(low, value);
		high = fmax(high, value);
	}
	for (u32 i = 0; y && i < self->line_count; i++) {
		if (log && !(self->lines[i].y > 0))
			continue;
		low = fmin(low, self->lines[i].y);
		high = fmax(high, self->lines[i].y);
	}
	return axis_of(low, high, log);
}

struct chart_axis chart_axis_x(const struct chart *self)
{
	return axis_along(self, false, self->log_x);
}

struct chart_axis chart_axis_y(const struct chart *self)
{
	return axis_along(self, true, self->log_y);
}

double chart_place(const struct chart_axis *axis, double value)
{
	double place = axis->log ? (log10(value) - log10(axis->low)) /
					   (log10(axis->high) - log10(axis->low))
				 : (value - axis->low) / (axis->high - axis->low);

	return place > 0 ? fmin(place, 1) : 0; /* NaN, too */
}

bool chart_tick(const struct chart_axis *axis, u32 *at, double *value)
{
	double step, decades;

	if (axis->log) {
		decades = round(log10(axis->high / axis->low));
		step = ceil(decades / (2 * TICKS));
		*value = axis->low * pow(10, *at * step);
		return *at <= 2 * TICKS && (*at)++ * step <= decades + 0.5;
	}
	step = pow(10, floor(log10((axis->high - axis->low) / 2)));
	while ((axis->high - axis->low) / step > 2 * TICKS)
		step *= 2;
	*value = ceil(axis->low / step) * step + *at * step;
	return (*at)++ <= 2 * TICKS && *value <= axis->high;
}

void chart_number(double value, char text[24])
{
	/* Sums of steps are not quite round. */
	double shown = fabs(value) < 1e-12 ? 0 : value;

	snprintf(text, 24, "%.4g", shown);
}
