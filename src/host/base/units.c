/* SPDX-License-Identifier: MIT
 * Numbers as people read them. Runs on the host. Never depends on the locale's grouping. */
#include "host/base/units.h"

#include <stdio.h>
#include <string.h>

/* Three significant digits at most: 1.50, 15.0, 150. */
static struct unit_text scaled(double value, int decimals, const char *unit)
{
	struct unit_text out;

	snprintf(out.text, sizeof(out.text), "%.*f %s", decimals, value, unit);
	return out;
}

struct unit_text units_bytes(u64 bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	u32 i = 0;

	/* 1023.95 would print as 1024.0 of the smaller unit */
	while (value >= (i ? 1023.95 : 1024) && i < 6) {
		value /= 1024;
		i++;
	}
	return scaled(value, i && value < 99.95 ? 1 : 0, unit[i]);
}

struct unit_text units_ns(u64 ns)
{
	struct unit_text out;
	u64 seconds = ns / 1000000000;

	if (ns < 1000)
		return scaled((double)ns, 0, "ns");
	if (ns < 999950)
		return scaled((double)ns / 1e3, 1, "us");
	if (ns < 999950000)
		return scaled((double)ns / 1e6, 1, "ms");
	if (seconds < 60)
		return scaled((double)ns / 1e9, 2, "s");
	if (seconds < 3600)
		snprintf(out.text, sizeof(out.text), "%u min %02u s", (u32)(seconds / 60),
			 (u32)(seconds % 60));
	else
		snprintf(out.text, sizeof(out.text), "%llu h %02u min",
			 (unsigned long long)(seconds / 3600), (u32)(seconds / 60 % 60));
	return out;
}

struct unit_text units_count(u64 count)
{
	struct unit_text out;
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *p = out.text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}

struct unit_text units_signed(i64 count)
{
	struct unit_text out, digits = units_count(count < 0 ? 0 - (u64)count : (u64)count);

	snprintf(out.text, sizeof(out.text), "%s%.30s", count < 0 ? "-" : "", digits.text);
	return out;
}

struct unit_text units_percent(double share)
{
	struct unit_text out;

	if (share > 0 && share < 0.0005) {
		snprintf(out.text, sizeof(out.text), "<0.1 %%");
		return out;
	}
	snprintf(out.text, sizeof(out.text), "%.1f %%", share * 100);
	return out;
}

double units_share(u64 part, u64 whole) { return whole ? (double)part / (double)whole : 0; }

/* The length of "(s)", "(es)" or "(one|many)" at text, and which part of it is said; 0 if it is
 * none of them. */
static size_t number_form(const char *text, bool one, const char **said, size_t *bytes)
{
	size_t inside = text[0] == '(' ? strcspn(text + 1, ")") : 0;
	const char *bar = inside ? memchr(text + 1, '|', inside) : NULL;

	if (!inside || !text[inside + 1])
		return 0;
	if (!bar && !(inside == 1 && text[1] == 's') &&
	    !(inside == 2 && strncmp(text + 1, "es", 2) == 0))
		return 0;
	if (one) {
		*said = text + 1;
		*bytes = bar ? (size_t)(bar - *said) : 0;
	} else {
		*said = bar ? bar + 1 : text + 1;
		*bytes = (size_t)(text + 1 + inside - *said);
	}
	return inside + 2;
}

struct things_text units_words(u64 count, const char *words)
{
	struct things_text out;
	size_t at = 0;

	while (*words) {
		const char *said = words;
		size_t bytes = 1, form = number_form(words, count == 1, &said, &bytes);

		if (bytes >= sizeof(out.text) - at)
			break;
		memcpy(out.text + at, said, bytes);
		at += bytes;
		words += form ? form : 1;
	}
	out.text[at] = 0;
	return out;
}

struct things_text units_things(u64 count, const char *words)
{
	struct things_text out;

	snprintf(out.text, sizeof(out.text), "%s %.280s", units_count(count).text,
		 units_words(count, words).text);
	return out;
}
