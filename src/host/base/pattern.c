/* SPDX-License-Identifier: MIT
 * What a regular expression costs before it is compiled.
 * Host. Expressions come from strangers. */
#include "host/base/pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "format/types.h"

enum { DEPTH_MAX = 64, REPEAT_MAX = 255, COST_MAX = 1000 };

static const char OFTEN[] = "the pattern repeats too often; use fewer or smaller repeats";
static const char PLACES[] = "^, $, \\b, \\< and \\> cannot be repeated";

/* Sums of copies, by group that is open: all of it, and the last thing in it, which a repetition
 * multiplies; and whether these hold a place of no width. */
struct costs {
	u64 sum[DEPTH_MAX + 1], last[DEPTH_MAX + 1];
	bool places[DEPTH_MAX + 1], last_places[DEPTH_MAX + 1];
	u32 depth;
};

static void add(struct costs *self, u64 cost, bool places)
{
	self->sum[self->depth] += cost;
	self->last[self->depth] = cost;
	self->places[self->depth] |= places;
	self->last_places[self->depth] = places;
}

static bool is_place(const char *p)
{
	return *p == '^' || *p == '$' || (*p == '\\' && p[1] && strchr("bB<>`'", p[1]));
}

static void repeat(struct costs *self, u64 times)
{
	u64 *last = &self->last[self->depth];

	self->sum[self->depth] += *last * (times - 1);
	*last *= times;
}

static void close_group(struct costs *self)
{
	bool places = self->places[self->depth];
	u64 cost;

	if (!self->depth)
		return; /* not balanced: regcomp says so */
	cost = self->sum[self->depth];
	self->depth--;
	add(self, cost ? cost : 1, places);
}

static bool open_group(struct costs *self)
{
	if (self->depth == DEPTH_MAX)
		return false;
	self->depth++;
	self->sum[self->depth] = self->last[self->depth] = 0;
	self->places[self->depth] = self->last_places[self->depth] = false;
	return true;
}

/* The end of [...]; a ] that comes first belongs to it, and so do those of [:alpha:]. */
static const char *bracket_end(const char *text)
{
	const char *p = text + 1;

	p += *p == '^';
	p += *p == ']';
	for (; *p && *p != ']'; p++)
		if (*p == '[' && p[1] && strchr(":.=", p[1])) {
			const char *end = strchr(p + 2, p[1]);

			if (end && end[1] == ']')
				p = end + 1;
		}
	return *p ? p : p - 1;
}

/* {m}, {m,}, {m,n}, of which *at becomes the end; false if it repeats too often. */
static bool count(struct costs *self, const char **at)
{
	char *end;
	u64 low = strtoull(*at + 1, &end, 10);
	u64 high = *end == ',' ? strtoull(end + 1, &end, 10) : low;

	if (low > REPEAT_MAX || high > REPEAT_MAX)
		return false;
	repeat(self, 1 + (low > high ? low : high));
	if (*end == '}')
		*at = end;
	return true;
}

static const char *step(struct costs *self, const char **at)
{
	const char *p = *at;

	if ((u8)*p < 0x20 || (*p == '\\' && p[1] && (u8)p[1] < 0x20))
		return "a pattern cannot contain control characters";
	if (*p == '\\' && isdigit((u8)p[1]))
		return "back-references are not supported";
	if (*p == '(')
		return open_group(self) ? NULL : "the pattern is nested too deeply";
	if (strchr("+*{", *p) && self->last_places[self->depth])
		return PLACES;
	if (*p == ')')
		close_group(self);
	else if (strchr("+*?", *p))
		/* the last two copy nothing, but glibc goes each way through what they make
		 * optional */
		repeat(self, 2);
	else if (*p == '{')
		return count(self, at) ? NULL : OFTEN;
	else if (*p != '|')
		add(self, 1, is_place(p));
	if (*p == '\\' && p[1])
		++*at;
	if (*p == '[')
		*at = bracket_end(p);
	return NULL;
}

const char *pattern_trouble(const char *text)
{
	u64 limit = COST_MAX + strlen(text);
	struct costs costs = {0};

	for (const char *p = text; *p; p++) {
		const char *trouble = step(&costs, &p);

		if (trouble)
			return trouble;
		if (costs.sum[costs.depth] > limit)
			return OFTEN;
	}
	return NULL;
}
