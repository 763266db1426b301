/* SPDX-License-Identifier: MIT
 * One value as text for people.
 * Host. */
#include <inttypes.h>
#include <math.h>

#include "host/base/text_width.h"
#include "host/base/units.h"
#include "show/render/render.h"

static void add_difference(enum value_type type, i64 difference, struct strbuf *out)
{
	u64 size = difference < 0 ? 0 - (u64)difference : (u64)difference;

	strbuf_add(out, difference < 0 ? "-" : difference > 0 ? "+" : "");
	if (type == VALUE_DELTA_BYTES)
		strbuf_add(out, units_bytes(size).text);
	else if (type == VALUE_DELTA_NS)
		strbuf_add(out, units_ns(size).text);
	else
		strbuf_add(out, units_count(size).text);
}

/* "+25.0 %", "-0.03 %", "0.0 %" */
static void add_change(double share, struct strbuf *out)
{
	const char *format = share == 0             ? "%.1f %%"
			     : fabs(share) < 0.0005 ? "%+.1g %%"
						    : "%+.1f %%";

	strbuf_addf(out, format, share * 100);
}

void value_format(enum value_type type, const struct value *value, struct strbuf *out)
{
	if (!value->known) {
		strbuf_add(out, "-");
		return;
	}
	switch (type) {
	case VALUE_TEXT:
	case VALUE_PATH: text_add_clean(out, value->text); break;
	case VALUE_COUNT: strbuf_add(out, units_count(value->number).text); break;
	case VALUE_BYTES: strbuf_add(out, units_bytes(value->number).text); break;
	case VALUE_NS: strbuf_add(out, units_ns(value->number).text); break;
	case VALUE_SHARE: strbuf_add(out, units_percent(value->real).text); break;
	case VALUE_RATIO: strbuf_addf(out, "%.2f", value->real); break;
	case VALUE_DELTA:
	case VALUE_DELTA_BYTES:
	case VALUE_DELTA_NS: add_difference(type, value->integer, out); break;
	case VALUE_CHANGE: add_change(value->real, out); break;
	case VALUE_SIGNED: strbuf_add(out, units_signed(value->integer).text); break;
	case VALUE_ID: strbuf_addf(out, "%" PRIu64, value->number); break;
	case VALUE_ADDRESS: strbuf_addf(out, "0x%" PRIx64, value->number); break;
	case VALUE_BOOL: strbuf_add(out, value->number ? "yes" : "no"); break;
	case VALUE_STACK: strbuf_addf(out, "%u frames", value->stack->count); break;
	}
}
