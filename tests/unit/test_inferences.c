/* SPDX-License-Identifier: MIT
 * Each inference: a run in which it holds, and one, as like it as can be, in which it does not. */
#include <stdio.h>

#include "study/analysis/memoro/inferences.h"
#include "unit/test_access.h"

enum { RUN = 100000000 }; /* 100 ms */

/* What the chunks of point 0 do. */
struct scene {
	const char *name;
	enum inference inference;
	void (*tell)(struct feed *feed);
	bool holds;
	u64 chunks, of_chunks, bytes; /* the evidence, where it holds */
};

static u64 used(struct feed *feed, u64 size, u64 reads, u64 writes, u64 bytes)
{
	u64 chunk = alloc_at(feed, 0, HW_MALLOC, 1, size);

	access_at(feed, chunk, 10, RUN - 10, reads, writes, bytes, 0);
	return chunk;
}

/* 10 bytes of one kind, and the rest of 100 as it should be */
static void tenth_unused(struct feed *feed) { used(feed, 10, 0, 0, 0), used(feed, 90, 1, 1, 90); }
static void less_unused(struct feed *feed) { used(feed, 9, 0, 0, 0), used(feed, 91, 1, 1, 91); }
static void empty_unused(struct feed *feed) { used(feed, 0, 0, 0, 0); }
static void tenth_unread(struct feed *feed) { used(feed, 10, 0, 5, 10), used(feed, 90, 1, 1, 90); }
static void less_unread(struct feed *feed) { used(feed, 9, 0, 5, 9), used(feed, 91, 1, 1, 91); }
static void tenth_unwritten(struct feed *feed)
{
	used(feed, 10, 5, 0, 10), used(feed, 90, 1, 1, 90);
}
static void less_unwritten(struct feed *feed) { used(feed, 9, 5, 0, 9), used(feed, 91, 1, 1, 91); }

static void lives(struct feed *feed, u64 count, u64 life, u64 others)
{
	for (u64 i = 0; i < count; i++) {
		u64 chunk = alloc_at(feed, 1000 * i, HW_MALLOC, 1, 8);

		for (u64 k = 0; k < others; k++)
			alloc_at(feed, 1000 * i, HW_MALLOC, 2, 1);
		free_at(feed, 1000 * i + life, chunk, 8);
	}
}
static void short_lives(struct feed *feed) { lives(feed, 100, 1000000, 1); }
static void longer_lives(struct feed *feed) { lives(feed, 100, 1000001, 1); }
static void few_short(struct feed *feed) { lives(feed, 99, 10, 1); }
static void half_short(struct feed *feed) { lives(feed, 50, 10, 1), lives(feed, 50, 2000000, 1); }
static void less_short(struct feed *feed) { lives(feed, 49, 10, 1), lives(feed, 51, 2000000, 1); }
static void temporaries(struct feed *feed) { lives(feed, 100, 10, 0); }
static void one_between(struct feed *feed) { lives(feed, 100, 10, 1); }

static void idle(struct feed *feed, u64 first, u64 last)
{
	u64 chunk = alloc_at(feed, 1000, HW_MALLOC, 1, 64);

	access_at(feed, chunk, 1000 + first, 1000 + last, 2, 2, 64, 0);
	free_at(feed, 2000, chunk, 64);
}
static void early(struct feed *feed) { idle(feed, 501, 1000); }
static void not_early(struct feed *feed) { idle(feed, 500, 1000); }
static void late(struct feed *feed) { idle(feed, 0, 499); }
static void not_late(struct feed *feed) { idle(feed, 0, 500); }
static void never_accessed(struct feed *feed) { used(feed, 64, 0, 0, 0); }
static void mostly_not_early(struct feed *feed)
{
	early(feed);
	not_early(feed);
	not_early(feed);
}

/* Sizes of chunks, each of which dies `after` the next one's birth. */
static void sizes(struct feed *feed, const u64 *size, u32 count, u64 after)
{
	u64 before = 0;

	for (u32 i = 0; i < count; i++) {
		u64 chunk = alloc_at(feed, 1000 * i, HW_NEW, 1, size[i]);

		if (i > 0)
			free_at(feed, 1000 * i + after, before, size[i - 1]);
		before = chunk;
	}
}
static void growing(struct feed *feed)
{
	static const u64 row[] = {8, 16, 32, 64, 128};

	sizes(feed, row, 5, 10);
}
static void growing_once_less(struct feed *feed)
{
	static const u64 row[] = {8, 16, 32, 64};

	sizes(feed, row, 4, 10);
}
static void equal_sizes(struct feed *feed)
{
	static const u64 row[] = {8, 8, 8, 16, 16, 16, 32, 32};

	sizes(feed, row, 8, 10);
}
static void larger_but_apart(struct feed *feed) /* the old one is freed before */
{
	for (u64 i = 0; i < 8; i++)
		free_at(feed, 1000 * i + 500, alloc_at(feed, 1000 * i, HW_NEW, 1, 8 << i), 8 << i);
}
static void larger_and_kept(struct feed *feed)
{
	for (u64 i = 0; i < 8; i++)
		alloc_at(feed, 1000 * i, HW_NEW, 1, 8 << i);
}
static void queue(struct feed *feed) /* each dies three births later */
{
	u64 chunk[16];

	for (u64 i = 0; i < 16; i++) {
		chunk[i] = alloc_at(feed, 1000 * i, HW_NEW, 1, 8 + i);
		if (i >= 3)
			free_at(feed, 1000 * i + 10, chunk[i - 3], 5 + i);
	}
}
static void two_at_once(struct feed *feed) /* 8, 16, … and 9, 17, …, by turns */
{
	u64 before[2] = {0};

	for (u64 i = 0; i < 10; i++) {
		u64 size = (8 << i / 2) + i % 2, chunk = alloc_at(feed, 1000 * i, HW_NEW, 1, size);

		if (i >= 2)
			free_at(feed, 1000 * i + 10, before[i % 2], (8 << (i / 2 - 1)) + i % 2);
		before[i % 2] = chunk;
	}
}
static void reallocs(struct feed *feed, u32 chains, u32 free_context)
{
	u64 at = 0, chunk[4];

	for (u32 i = 0; i <= 4; i++)
		for (u32 k = 0; k < chains; k++, at += 100) {
			if (i > 0)
				tell_event(feed, (struct event){.ticks = START + at,
								.kind = HW_REALLOC_FREE,
								.aux = 1,
								.context = free_context,
								.chunk = chunk[k],
								.size = 8 << (i - 1),
								.address = 1});
			chunk[k] = alloc_at(feed, at + 20, HW_REALLOC, 1, 8 << i);
		}
}
static void realloc_chain(struct feed *feed) { reallocs(feed, 1, 1); }
static void realloc_chains(struct feed *feed) { reallocs(feed, 4, 1); }
static void realloc_of_others(struct feed *feed) { reallocs(feed, 1, 2); }

static void low_coverage(struct feed *feed)
{
	used(feed, 400, 1, 1, 199), used(feed, 400, 1, 1, 400);
}
static void half_coverage(struct feed *feed)
{
	used(feed, 400, 1, 1, 200), used(feed, 400, 1, 1, 400);
}
static void rare_coverage(struct feed *feed)
{
	used(feed, 399, 1, 1, 4), used(feed, 400, 1, 1, 400);
}

static void zero_sizes(struct feed *feed) { alloc_at(feed, 0, HW_MALLOC, 1, 0); }
static void one_byte(struct feed *feed) { alloc_at(feed, 0, HW_MALLOC, 1, 1); }

static void shared(struct feed *feed, u32 of)
{
	for (u32 i = 0; i < of; i++)
		access_at(feed, alloc_at(feed, i, HW_MALLOC, 1, 8), 100, 200, 1, 1, 8,
			  i == 0 ? ACCESS_SHARED : 0);
}
static void tenth_shared(struct feed *feed) { shared(feed, 10); }
static void less_shared(struct feed *feed) { shared(feed, 11); }

static void freed_elsewhere(struct feed *feed, u32 of)
{
	tell_thread(feed, 0);
	tell_thread(feed, 1);
	for (u32 i = 0; i < of; i++) {
		u64 chunk = alloc_at(feed, 10 * i, HW_MALLOC, 1, 8);

		feed->thread = i == 0;
		free_at(feed, 10 * i + 5, chunk, 8);
		feed->thread = 0;
	}
}
static void tenth_foreign(struct feed *feed) { freed_elsewhere(feed, 10); }
static void less_foreign(struct feed *feed) { freed_elsewhere(feed, 11); }

static void kept(struct feed *feed)
{
	alloc_at(feed, 0, HW_MALLOC, 1, 6), alloc_at(feed, 0, HW_MALLOC, 2, 994);
}
static void hardly_kept(struct feed *feed)
{
	alloc_at(feed, 0, HW_MALLOC, 1, 5), alloc_at(feed, 0, HW_MALLOC, 2, 995);
}
static void all_freed(struct feed *feed)
{
	free_at(feed, 5, alloc_at(feed, 0, HW_MALLOC, 1, 6), 6);
}

/* Point 0 and 9 others, of which none is larger. */
static void among_ten(struct feed *feed, u64 size, u32 count)
{
	for (u32 i = 0; i < count; i++)
		alloc_at(feed, i, HW_MALLOC, 1, size);
	for (u32 i = 2; i <= 10; i++)
		alloc_at(feed, i, HW_MALLOC, i, 100);
}
static void largest(struct feed *feed) { among_ten(feed, 101, 1); }
static void as_large(struct feed *feed) { among_ten(feed, 100, 1); }
static void most_often(struct feed *feed) { among_ten(feed, 1, 2); }
static void as_often(struct feed *feed) { among_ten(feed, 1, 1); }

static void mostly_read(struct feed *feed) { used(feed, 8, 10, 1, 8); }
static void mostly_written(struct feed *feed) { used(feed, 8, 1, 10, 8); }
static void balanced(struct feed *feed) { used(feed, 8, 9, 1, 8); }
static void read_only(struct feed *feed) { used(feed, 8, 10, 0, 8); }

static const struct scene scenes[] = {
	{"a tenth unused", INFERENCE_UNUSED, tenth_unused, true, 1, 2, 10},
	{"less unused", INFERENCE_UNUSED, less_unused, false, 0, 0, 0},
	{"unused chunks of no bytes", INFERENCE_UNUSED, empty_unused, false, 0, 0, 0},
	{"a tenth unread", INFERENCE_WRITE_ONLY, tenth_unread, true, 1, 2, 10},
	{"less unread", INFERENCE_WRITE_ONLY, less_unread, false, 0, 0, 0},
	{"never accessed is not unread", INFERENCE_WRITE_ONLY, tenth_unused, false, 0, 0, 0},
	{"a tenth unwritten", INFERENCE_READ_ONLY, tenth_unwritten, true, 1, 2, 10},
	{"less unwritten", INFERENCE_READ_ONLY, less_unwritten, false, 0, 0, 0},
	{"100 lives of 1 ms", INFERENCE_SHORT, short_lives, true, 100, 100, 800},
	{"100 longer lives", INFERENCE_SHORT, longer_lives, false, 0, 0, 0},
	{"99 short lives", INFERENCE_SHORT, few_short, false, 0, 0, 0},
	{"half of the lives short", INFERENCE_SHORT, half_short, true, 50, 100, 400},
	{"less than half short", INFERENCE_SHORT, less_short, false, 0, 0, 0},
	{"temporary", INFERENCE_TEMPORARY, temporaries, true, 100, 100, 800},
	{"an allocation between", INFERENCE_TEMPORARY, one_between, false, 0, 0, 0},
	{"first access after half of the life", INFERENCE_EARLY, early, true, 1, 1, 64},
	{"first access at half of the life", INFERENCE_EARLY, not_early, false, 0, 0, 0},
	{"a third of the bytes early", INFERENCE_EARLY, mostly_not_early, false, 0, 0, 0},
	{"never accessed is not early", INFERENCE_EARLY, never_accessed, false, 0, 0, 0},
	{"last access before half of the life", INFERENCE_LATE, late, true, 1, 1, 64},
	{"last access at half of the life", INFERENCE_LATE, not_late, false, 0, 0, 0},
	{"never accessed is not late", INFERENCE_LATE, never_accessed, false, 0, 0, 0},
	{"four steps of growth", INFERENCE_GROWING, growing, true, 5, 5, 248},
	{"three steps", INFERENCE_GROWING, growing_once_less, false, 0, 0, 0},
	{"equal sizes", INFERENCE_GROWING, equal_sizes, false, 0, 0, 0},
	{"larger, the old one gone before", INFERENCE_GROWING, larger_but_apart, false, 0, 0, 0},
	{"larger, the old one kept", INFERENCE_GROWING, larger_and_kept, false, 0, 0, 0},
	{"a queue of larger and larger ones", INFERENCE_GROWING, queue, false, 0, 0, 0},
	{"two that grow by turns", INFERENCE_GROWING, two_at_once, false, 0, 0, 0},
	{"a realloc chain", INFERENCE_GROWING, realloc_chain, true, 5, 5, 248},
	{"four realloc chains at once", INFERENCE_GROWING, realloc_chains, true, 20, 20, 992},
	{"reallocs of what others allocated", INFERENCE_GROWING, realloc_of_others, false, 0, 0, 0},
	{"half of the bytes hardly used", INFERENCE_COVERAGE, low_coverage, true, 1, 2, 400},
	{"half of each used", INFERENCE_COVERAGE, half_coverage, false, 0, 0, 0},
	{"less than half of the bytes", INFERENCE_COVERAGE, rare_coverage, false, 0, 0, 0},
	{"never accessed is not coverage", INFERENCE_COVERAGE, never_accessed, false, 0, 0, 0},
	{"no bytes", INFERENCE_ZERO_SIZE, zero_sizes, true, 1, 1, 0},
	{"one byte", INFERENCE_ZERO_SIZE, one_byte, false, 0, 0, 0},
	{"a tenth shared", INFERENCE_SHARED, tenth_shared, true, 1, 10, 8},
	{"less shared", INFERENCE_SHARED, less_shared, false, 0, 0, 0},
	{"a tenth freed by another", INFERENCE_FOREIGN_FREE, tenth_foreign, true, 1, 10, 8},
	{"less freed by another", INFERENCE_FOREIGN_FREE, less_foreign, false, 0, 0, 0},
	{"kept", INFERENCE_KEPT, kept, true, 1, 1, 6},
	{"0.5 % of what is kept", INFERENCE_KEPT, hardly_kept, false, 0, 0, 0},
	{"freed", INFERENCE_KEPT, all_freed, false, 0, 0, 0},
	{"the largest of ten", INFERENCE_TOP_BYTES, largest, true, 1, 1, 101},
	{"as large as the others", INFERENCE_TOP_BYTES, as_large, false, 0, 0, 0},
	{"the busiest of ten", INFERENCE_TOP_ALLOCS, most_often, true, 2, 2, 2},
	{"as busy as the others", INFERENCE_TOP_ALLOCS, as_often, false, 0, 0, 0},
	{"ten reads per write", INFERENCE_READ_WRITE, mostly_read, true, 1, 1, 8},
	{"ten writes per read", INFERENCE_READ_WRITE, mostly_written, true, 1, 1, 8},
	{"nine reads per write", INFERENCE_READ_WRITE, balanced, false, 0, 0, 0},
	{"read only is no ratio", INFERENCE_READ_WRITE, read_only, false, 0, 0, 0},
};

struct judged {
	struct feed feed;
	struct behaviour_table behaviour;
	struct inferences inferences;
};

static struct feed told_by(void (*tell)(struct feed *feed), u64 sample_bytes)
{
	struct feed feed = feed_new();

	if (sample_bytes)
		tell_image(&feed, sample_bytes);
	tell_functions(&feed, 10);
	tell(&feed);
	end_at(&feed, RUN);
	return feed;
}

static void judge(struct judged *self, const struct thresholds *limits)
{
	struct feed *feed = &self->feed;

	self->behaviour = (struct behaviour_table){0};
	told(feed, behaviour_find(&(struct stack_source){.model = feed->model}, limits,
				  &self->behaviour, &feed->err));
	told(feed,
	     inferences_find(&self->inferences, feed->model, &self->behaviour, limits, &feed->err));
}

static struct inference_evidence evidence_of(const struct judged *self, enum inference inference)
{
	return inference_of(&self->inferences, (struct point_id){0}, inference);
}

static void release(struct judged *self)
{
	behaviour_table_release(&self->behaviour);
	model_free(self->feed.model);
}

TEST(scenes, "each inference holds where it should and nowhere else, with its evidence")
{
	struct thresholds limits = THRESHOLDS_DEFAULT;

	for (u32 i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		const struct scene *scene = &scenes[i];
		struct judged judged = {.feed = told_by(scene->tell, 0)};
		struct inference_evidence evidence;
		bool ok;

		judge(&judged, &limits);
		evidence = evidence_of(&judged, scene->inference);
		ok = CHECK_EQ(evidence.state == STATE_HOLDS, scene->holds);
		if (scene->holds)
			ok = CHECK_EQ(evidence.chunks, scene->chunks) &&
			     CHECK_EQ(evidence.of_chunks, scene->of_chunks) &&
			     CHECK_EQ(evidence.bytes, scene->bytes) && ok;
		if (!ok)
			fprintf(stderr, "# %s: %s\n", inference_name(scene->inference),
				scene->name);
		release(&judged);
	}
}

TEST(complete, "every inference has a scene in which it holds and one in which it does not")
{
	bool yes[INFERENCES] = {0}, no[INFERENCES] = {0};

	for (u32 i = 0; i < sizeof scenes / sizeof *scenes; i++)
		*(scenes[i].holds ? &yes[scenes[i].inference] : &no[scenes[i].inference]) = true;
	for (u32 i = 0; i < INFERENCES; i++)
		if (!CHECK(yes[i] && no[i]))
			fprintf(stderr, "# %s\n", inference_name((enum inference)i));
}

/* ---- options ---- */

struct change {
	const char *name;
	u32 scene; /* found by name */
	size_t offset;
	double share; /* or, if it is below 0, */
	u64 number;
};

#define SHARE(scene, field, value)                                                                 \
	{                                                                                          \
		scene, 0, offsetof(struct thresholds, field), value, 0                             \
	}
#define NUMBER(scene, field, value)                                                                \
	{                                                                                          \
		scene, 0, offsetof(struct thresholds, field), -1, value                            \
	}

TEST(thresholds, "each threshold turns its scene round")
{
	static const struct change changes[] = {
		SHARE("less unused", useless_bytes, 0.09),
		SHARE("a tenth unread", useless_bytes, 0.11),
		NUMBER("100 lives of 1 ms", short_us, 999),
		NUMBER("99 short lives", short_min, 99),
		SHARE("less than half short", short_chunks, 0.49),
		NUMBER("an allocation between", temporary_slack, 1),
		NUMBER("temporary", temporary_min, 101),
		SHARE("first access at half of the life", idle, 0.49),
		SHARE("a third of the bytes early", idle_bytes, 0.3),
		NUMBER("three steps", growing_steps, 3),
		NUMBER("four steps of growth", growing_steps, 5),
		SHARE("half of each used", coverage, 0.51),
		SHARE("less than half of the bytes", coverage_bytes, 0.49),
		NUMBER("no bytes", zero_min, 2),
		SHARE("less shared", threads, 0.09),
		SHARE("less freed by another", threads, 0.09),
		SHARE("0.5 % of what is kept", kept, 0.004),
		SHARE("the largest of ten", top_floor, 0.11),
		SHARE("the busiest of ten", top, 0.05),
		NUMBER("nine reads per write", ratio, 9),
	};

	for (u32 i = 0; i < sizeof changes / sizeof *changes; i++) {
		const struct change *change = &changes[i];
		struct thresholds limits = THRESHOLDS_DEFAULT;
		const struct scene *scene = scenes;
		char *field = (char *)&limits + change->offset;
		struct judged judged;

		while (strcmp(scene->name, change->name) != 0)
			scene++;
		if (change->share >= 0)
			memcpy(field, &change->share, sizeof change->share);
		else
			memcpy(field, &change->number, sizeof change->number);
		judged = (struct judged){.feed = told_by(scene->tell, 0)};
		judge(&judged, &limits);
		if (!CHECK_EQ(evidence_of(&judged, scene->inference).state == STATE_HOLDS,
			      !scene->holds))
			fprintf(stderr, "# %s\n", change->name);
		release(&judged);
	}
}

/* ---- how sure ---- */

TEST(unknown, "without recorded accesses what needs them is unknown, all else is judged")
{
	struct thresholds limits = THRESHOLDS_DEFAULT;
	struct judged judged = {.feed = told_by(temporaries, 0)};

	judge(&judged, &limits);
	for (u32 i = 0; i < INFERENCES; i++) {
		enum inference_state state = evidence_of(&judged, (enum inference)i).state;

		CHECK_EQ(state == STATE_UNKNOWN, inference_needs_access((enum inference)i));
	}
	release(&judged);
}

static void told_flags(struct feed *feed, u32 flags)
{
	access_at(feed, alloc_at(feed, 0, HW_MALLOC, 1, 8), 0, 0, 0, 0, 0, flags);
}
static void exact(struct feed *feed) { told_flags(feed, 0); }
static void estimated(struct feed *feed) { told_flags(feed, ACCESS_ESTIMATED); }
static void bounded(struct feed *feed) { told_flags(feed, ACCESS_ESTIMATED | ACCESS_LOWER_BOUND); }
static void bounded_elsewhere(struct feed *feed)
{
	exact(feed);
	access_at(feed, alloc_at(feed, 0, HW_MALLOC, 1, 8), 1, 2, 1, 1, 8, ACCESS_LOWER_BOUND);
}

TEST(confidence, "a lower bound is inferred, an estimate is estimated, and so is a sample")
{
	static const struct {
		void (*tell)(struct feed *feed);
		u64 sample_bytes;
		enum confidence confidence;
	} rows[] = {{exact, 0, SURE_MEASURED},
		    {estimated, 0, SURE_ESTIMATED},
		    {bounded, 0, SURE_INFERRED},
		    {bounded_elsewhere, 0, SURE_MEASURED}, /* of a chunk that is not unused */
		    {exact, 4096, SURE_ESTIMATED}};
	struct thresholds limits = THRESHOLDS_DEFAULT;

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct judged judged = {.feed = told_by(rows[i].tell, rows[i].sample_bytes)};
		struct inference_evidence evidence;

		judge(&judged, &limits);
		evidence = evidence_of(&judged, INFERENCE_UNUSED);
		CHECK_EQ(evidence.state, STATE_HOLDS);
		if (!CHECK_EQ(evidence.confidence, rows[i].confidence))
			fprintf(stderr, "# row %u\n", i);
		release(&judged);
	}
}

static struct chunk_access hidden_access; /* of the next scene */
static void one_access(struct feed *feed)
{
	access_at(feed, alloc_at(feed, 0, HW_MALLOC, 1, 8), 1, 2, hidden_access.reads,
		  hidden_access.writes, 8, hidden_access.flags);
}

TEST(hidden, "what accesses that were not seen may change is unknown")
{
	static const struct {
		u32 flags;
		u64 reads, writes;
		enum inference inference;
		enum inference_state state;
	} rows[] = {{0, 0, 5, INFERENCE_WRITE_ONLY, STATE_HOLDS},
		    {ACCESS_UNSIDED, 0, 5, INFERENCE_WRITE_ONLY, STATE_UNKNOWN},
		    {ACCESS_UNSIDED, 5, 0, INFERENCE_READ_ONLY, STATE_UNKNOWN},
		    {0, 5, 5, INFERENCE_READ_ONLY, STATE_NO},
		    {0, 640, 10, INFERENCE_READ_WRITE, STATE_HOLDS},
		    {ACCESS_ESTIMATED, 640, 10, INFERENCE_READ_WRITE, STATE_UNKNOWN},
		    {0, 5, 5, INFERENCE_SHARED, STATE_NO},
		    {ACCESS_ESTIMATED, 5, 5, INFERENCE_SHARED, STATE_UNKNOWN},
		    {ACCESS_ESTIMATED | ACCESS_SHARED, 5, 5, INFERENCE_SHARED, STATE_HOLDS}};
	struct thresholds limits = THRESHOLDS_DEFAULT;

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct judged judged = {0};

		hidden_access = (struct chunk_access){.reads = rows[i].reads,
						      .writes = rows[i].writes,
						      .flags = rows[i].flags};
		judged.feed = told_by(one_access, 0);
		judge(&judged, &limits);
		if (!CHECK_EQ(evidence_of(&judged, rows[i].inference).state, rows[i].state))
			fprintf(stderr, "# row %u\n", i);
		release(&judged);
	}
}

TEST(growth_confidence, "growth by realloc is measured, growth by sizes and times inferred")
{
	struct thresholds limits = THRESHOLDS_DEFAULT;
	struct judged by_realloc = {.feed = told_by(realloc_chain, 0)};
	struct judged by_size = {.feed = told_by(growing, 0)};

	judge(&by_realloc, &limits);
	judge(&by_size, &limits);
	CHECK_EQ(evidence_of(&by_realloc, INFERENCE_GROWING).confidence, SURE_MEASURED);
	CHECK_EQ(evidence_of(&by_size, INFERENCE_GROWING).confidence, SURE_INFERRED);
	release(&by_realloc);
	release(&by_size);
}

TEST(replaced, "of runs that grow the chunks that were replaced are added up, not the last ones")
{
	struct thresholds limits = THRESHOLDS_DEFAULT;
	struct judged one = {.feed = told_by(growing, 0)};
	struct judged four = {.feed = told_by(realloc_chains, 0)};

	judge(&one, &limits);
	judge(&four, &limits);
	CHECK_EQ(one.behaviour.points[0].replaced_bytes, 8 + 16 + 32 + 64);
	CHECK_EQ(four.behaviour.points[0].replaced_bytes, 4 * (8 + 16 + 32 + 64));
	CHECK_EQ(four.behaviour.points[0].growth_runs, 4);
	release(&one);
	release(&four);
}

TEST(percentile, "never more than the top share of the points, whatever their number")
{
	struct thresholds limits = THRESHOLDS_DEFAULT;

	for (u32 points = 1; points <= 40; points++) {
		struct judged judged = {.feed = feed_new()};
		u32 top = 0;

		tell_functions(&judged.feed, points);
		for (u32 i = 1; i <= points; i++)
			alloc_at(&judged.feed, i, HW_MALLOC, i, i);
		end_at(&judged.feed, RUN);
		judge(&judged, &limits);
		for (u32 i = 0; i < points; i++)
			top += inference_of(&judged.inferences, (struct point_id){i},
					    INFERENCE_TOP_BYTES)
				       .state == STATE_HOLDS;
		CHECK_EQ(top, points / 10);
		release(&judged);
	}
}
