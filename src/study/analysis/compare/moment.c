/* SPDX-License-Identifier: MIT
 * Moments of a recording, as users name them, and what had become of each chunk by then.
 * Host. Reads the model, never changes it. */
#include <math.h>
#include <string.h>

#include "study/analysis/compare/compare.h"
#include "host/base/options.h"
#include "host/base/units.h"

/* ---- words ---- */

/* The K-th mark that is called so, from 1; NULL if there are fewer. */
static const struct model_mark *mark_called(const struct model *model, const char *name,
					    size_t length, u64 which)
{
	for (u64 i = 0; i < model->marks.count; i++) {
		const struct model_mark *mark = &model->marks.data[i];

		if (strlen(mark->name) == length && strncmp(mark->name, name, length) == 0 &&
		    length && --which == 0)
			return mark;
	}
	return NULL;
}

static const struct model_mark *mark_find(const struct model *model, const char *word)
{
	const char *at = strrchr(word, '@');
	const struct model_mark *mark = mark_called(model, word, strlen(word), 1);
	u64 number;

	if (mark)
		return mark;
	if (*word == '#' && parse_number(word + 1, &number)) {
		for (u64 i = 0; i < model->marks.count; i++)
			if (model->marks.data[i].number == number && !*model->marks.data[i].name)
				return &model->marks.data[i];
		return NULL;
	}
	if (strncmp(word, "snapshot", 8) == 0 && parse_number(word + 8, &number) &&
	    number < model->snapshots.count)
		return &model->marks.data[model->snapshots.data[number].mark];
	if (at && parse_number(at + 1, &number) && number)
		return mark_called(model, word, (size_t)(at - word), number);
	return NULL;
}

static int at_time(const struct model *model, const char *word, double ns,
		   struct compare_moment *moment, struct err *err)
{
	u64 end_ns = model_duration_ns(model);

	if (ns > (double)end_ns)
		return err_set(err, ERR_USAGE, "%s is after the end of the recording, %s", word,
			       units_ns(end_ns).text);
	moment->kind = MOMENT_TIME;
	moment->ticks = tick_clock_ticks(&model->clock, (u64)ns + 1) - 1;
	return 0;
}

static void at_mark(const struct model *model, const struct model_mark *mark,
		    struct compare_moment *moment)
{
	moment->kind = MOMENT_MARK;
	moment->ticks = mark->ticks;
	moment->mark = (u64)(mark - model->marks.data);
}

int compare_moment_find(const struct model *model, const char *word, struct compare_moment *moment,
			struct err *err)
{
	const struct model_mark *mark = mark_find(model, word);
	double ns;

	*moment = (struct compare_moment){.word = word, .ticks = model->last_ticks};
	if (mark) {
		at_mark(model, mark, moment);
	} else if (strcmp(word, "start") == 0) {
		return at_time(model, word, 0, moment, err);
	} else if (strcmp(word, "peak") == 0) {
		moment->kind = MOMENT_PEAK;
		moment->ticks = model->totals.peak_ticks;
	} else if (parse_ns(word, 1e9, NULL, &ns)) {
		return at_time(model, word, ns, moment, err);
	} else if (strcmp(word, "end") != 0) {
		return err_set(err, ERR_USAGE,
			       "'%s' is not a moment of this recording; expected a time such as "
			       "1.5s or 200ms, start, peak, end, the name of a mark, #N for mark "
			       "number N, or snapshotN",
			       word);
	}
	return 0;
}

/* ---- which chunks ---- */

/* Bits of a chunk: born, and 4 higher freed, by moment 0, moment 1, and their peaks. */
enum { BORN = 1, FREED = 1 << 4, PEAK_SHIFT = 2 };

int compare_cuts_init(struct compare_cuts *self, const struct model *model,
		      const struct compare_moment moment[2], struct err *err)
{
	model_lacks_chunks(model);
	self->model = model;
	self->moment[0] = moment[0];
	self->moment[1] = moment[1];
	self->bits = calloc(model->chunks.count + 1, 1);
	return self->bits ? 0 : err_memory_for(err, "moments");
}

void compare_cuts_release(struct compare_cuts *self)
{
	free(self->bits);
	*self = (struct compare_cuts){0};
}

/* Whether the event is not after the moment. In the first pass nobody knows where the peak will
 * be. */
static bool counts(const struct compare_cuts *self, u32 side, const struct event *event)
{
	const struct compare_moment *moment = &self->moment[side];

	switch (moment->kind) {
	case MOMENT_TIME: return event->ticks <= moment->ticks;
	case MOMENT_MARK: return self->marks <= moment->mark;
	case MOMENT_PEAK: return self->pass == 1 || self->event < self->at[side];
	case MOMENT_END: break;
	}
	return true;
}

/* First pass: where the peak before each moment is. That of the peak is it itself. */
static void look_for_peak(struct compare_cuts *self, u32 side, const struct event *event, i64 bytes)
{
	if (!counts(self, side, event))
		return;
	self->live[side] += bytes;
	if (self->live[side] <= (i64)self->peak_bytes[side])
		return;
	self->peak_bytes[side] = (u64)self->live[side];
	self->peak_ticks[side] = event->ticks;
	self->peak_at[side] = self->at[side] = self->event + 1;
}

static void note(struct compare_cuts *self, u32 side, const struct event *event, u8 bit)
{
	if (!counts(self, side, event))
		return;
	self->bits[event->chunk] |= (u8)(bit << side);
	if (self->event < self->peak_at[side])
		self->bits[event->chunk] |= (u8)(bit << (side + PEAK_SHIFT));
}

static void step(struct compare_cuts *self, const struct event *event, bool allocates)
{
	u64 units, bytes;

	if (event->chunk >= self->model->chunks.count ||
	    chunk_end(&self->model->chunks, event->chunk) == CHUNK_ABSENT)
		return;
	model_weigh(self->model, event->size, &units, &bytes);
	for (u32 side = 0; side < 2; side++)
		if (self->pass == 1)
			look_for_peak(self, side, event, allocates ? (i64)bytes : -(i64)bytes);
		else
			note(self, side, event, allocates ? BORN : FREED);
}

static int take_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct compare_cuts *self = data;

	(void)err;
	for (u64 i = 0; i < count; i++, self->event++) {
		bool allocates = hw_kind_allocates(events[i].kind);

		self->marks += events[i].kind == HW_MARK;
		if (allocates || hw_kind_frees(events[i].kind))
			step(self, &events[i], allocates);
	}
	return 0;
}

struct stream_sink compare_cuts_sink(struct compare_cuts *self)
{
	self->pass++;
	self->event = self->marks = 0;
	return (struct stream_sink){.self = self, .events = take_events};
}

struct compare_fate compare_cuts_fate(const struct compare_cuts *self, u64 chunk, u32 side)
{
	u8 bits = self->bits[chunk], peak = (u8)(bits >> (side + PEAK_SHIFT));

	bits = (u8)(bits >> side);
	return (struct compare_fate){.born = bits & BORN,
				     .freed = bits & FREED,
				     .at_peak = (peak & BORN) && !(peak & FREED)};
}
