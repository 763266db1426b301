/* SPDX-License-Identifier: MIT
 * Wrong frees, and right ones that must not be called wrong. */
#include <signal.h>
#include <stdio.h>

#include "study/analysis/leaks/misuse.h"
#include "unit/test_analysis.h"

/* Contexts 1 … 6 are these functions. */
static const char *const names[] = {"allocate",
				    "free_first",
				    "free_again",
				    "operator new(unsigned long)",
				    "operator delete(void*)",
				    ""};
enum { ALLOCATE = 1, FREE_FIRST, FREE_AGAIN, OWN_NEW, OWN_DELETE, NAMELESS, FUNCTIONS = NAMELESS };

static struct feed feed_functions(void)
{
	struct feed feed = feed_new();

	tell_functions(&feed, FUNCTIONS);
	return feed;
}

static void tell_free_by(struct feed *feed, u8 kind, u32 context, u64 chunk, u64 address)
{
	tell_event(feed, (struct event){.kind = kind,
					.context = context,
					.chunk = chunk,
					.address = address});
}

static u64 address_of(u64 chunk) { return 0x1000 + 16 * chunk; }

static void tell_end_by(struct feed *feed, u32 how, i32 value, u64 lost)
{
	struct stream_image_end end = {.ticks = feed->ticks + 10,
				       .how = how,
				       .value = value,
				       .totals = {.lost_events = lost}};

	told(feed, feed->sink.image_end(feed->sink.self, &end, &feed->err));
}

struct judged {
	struct misuse_table table;
	struct symbol_frame frames[FUNCTIONS];
	struct symbol_entry entries[FUNCTIONS];
	struct symbol_table symbols;
	struct stack_source source;
};

static void judge(struct judged *self, struct feed *feed)
{
	memset(self, 0, sizeof *self);
	self->symbols = named_table(names, FUNCTIONS, self->frames, self->entries);
	self->source = (struct stack_source){.model = feed->model, .symbols = &self->symbols};
	told(feed, misuse_find(&self->source, NULL, &self->table, &feed->err));
}

/* Name of the function that a frame of a row is in. */
static const char *function_of(const struct judged *self, struct frame_id frame)
{
	struct stack_names found = stack_names(&self->source, frame);

	return found.count ? found.frames[0].function : "";
}

TEST(double_free, "a double free names the allocation and both frees")
{
	struct feed feed = feed_functions();
	struct judged judged;
	struct result *result;
	u64 chunk = tell_alloc(&feed, HW_MALLOC, ALLOCATE, 40);

	tell_free_by(&feed, HW_FREE, FREE_FIRST, chunk, address_of(chunk));
	tell_free_by(&feed, HW_FREE, FREE_AGAIN, NO_CHUNK, address_of(chunk));
	tell_end_by(&feed, IMAGE_EXITED, 0, 0);
	judge(&judged, &feed);
	CHECK_EQ(judged.table.rows.count, 1);
	CHECK_EQ(judged.table.certain, 1);
	CHECK_EQ(judged.table.rows.data[0].what, MISUSE_DOUBLE_FREE);
	CHECK_STR(function_of(&judged, judged.table.rows.data[0].allocated), "allocate");
	CHECK_STR(function_of(&judged, judged.table.rows.data[0].freed_first), "free_first");
	CHECK_STR(function_of(&judged, judged.table.rows.data[0].freed), "free_again");
	result = misuse_result(&judged.source, &judged.table, 0, &feed.err);
	CHECK_STR(cell(result, 0, "what")->text, "double free (free)");
	CHECK_STR(cell(result, 0, "kind")->text, "double_free");
	CHECK_STR(cell(result, 0, "first_free_stack")->stack->frames[0].function, "free_first");
	CHECK_EQ(cell(result, 0, "bytes")->number, 40);
	result_free(result);
	misuse_table_release(&judged.table);
	model_free(feed.model);
}

TEST(last_tenant, "of several blocks at an address the last before the wrong free is named")
{
	struct feed feed = feed_functions();
	struct judged judged;

	for (u64 i = 0; i < 3; i++) {
		tell_event(&feed, (struct event){.kind = HW_MALLOC,
						 .context = ALLOCATE,
						 .size = 10 + i,
						 .chunk = i,
						 .address = 0x5000});
		tell_free_by(&feed, HW_FREE, FREE_FIRST, i, 0x5000);
		/* told late, as the correlator does, but stamped before the third block */
		if (i == 2)
			tell_event(&feed, (struct event){.kind = HW_FREE,
							 .context = FREE_AGAIN,
							 .chunk = NO_CHUNK,
							 .address = 0x5000,
							 .ticks = 1045});
	}
	tell_end_by(&feed, IMAGE_EXITED, 0, 0);
	judge(&judged, &feed);
	CHECK_EQ(judged.table.rows.count, 1);
	CHECK_EQ(judged.table.rows.data[0].bytes, 11);
	misuse_table_release(&judged.table);
	model_free(feed.model);
}

/* One unknown free in different surroundings. */
static const struct {
	const char *name;
	u64 address; /* 0 = of the freed chunk; the other chunk, of 16 bytes, is live */
	u32 how;
	i32 signal;
	u64 lost;
	bool paused;
	bool continued; /* there were blocks before */
	bool goes_on;   /* the thread does something afterwards */
	bool implied;   /* a free was not seen somewhere else */
	u64 certain, possible, not_judged;
	enum misuse_what what;
} surroundings[] = {
	{"double", 0, IMAGE_EXITED, 0, 0, false, false, true, false, 1, 0, 0, MISUSE_DOUBLE_FREE},
	{"lost events", 0, IMAGE_EXITED, 0, 3, false, false, true, false, 0, 1, 0,
	 MISUSE_DOUBLE_FREE},
	{"lost events and death", 0, IMAGE_KILLED, SIGABRT, 3, false, false, false, false, 0, 1, 0,
	 MISUSE_DOUBLE_FREE},
	{"pause", 0, IMAGE_EXITED, 0, 0, true, false, true, false, 0, 0, 1, MISUSE_DOUBLE_FREE},
	{"pause and death", 0, IMAGE_KILLED, SIGABRT, 0, true, false, false, false, 1, 0, 0,
	 MISUSE_DOUBLE_FREE},
	{"calls past the recorder", 0, IMAGE_EXITED, 0, 0, false, false, true, true, 0, 1, 0,
	 MISUSE_DOUBLE_FREE},
	{"inside", 0x1014, IMAGE_EXITED, 0, 0, false, false, true, false, 1, 0, 0, MISUSE_INSIDE},
	{"inside and pause", 0x1014, IMAGE_EXITED, 0, 0, true, false, true, false, 0, 1, 0,
	 MISUSE_INSIDE},
	{"static data", PROGRAM_BASE + 0x8000, IMAGE_EXITED, 0, 0, false, false, true, false, 1, 0,
	 0, MISUSE_INVALID},
	{"anywhere, and death", 0x7ffff000, IMAGE_KILLED, SIGABRT, 0, false, false, false, false, 1,
	 0, 0, MISUSE_INVALID},
	{"anywhere, and nothing happened", 0x7ffff000, IMAGE_EXITED, 0, 0, false, false, true,
	 false, 0, 1, 0, MISUSE_INVALID},
	{"anywhere, and death of something else", 0x7ffff000, IMAGE_KILLED, SIGABRT, 0, false,
	 false, true, false, 0, 1, 0, MISUSE_INVALID},
	{"anywhere, and killed from outside", 0x7ffff000, IMAGE_KILLED, SIGKILL, 0, false, false,
	 false, false, 0, 1, 0, MISUSE_INVALID},
	{"after a pause", 0x7ffff000, IMAGE_EXITED, 0, 0, true, false, true, false, 0, 0, 1,
	 MISUSE_INVALID},
	{"an older block", 0x7ffff000, IMAGE_EXITED, 0, 0, false, true, true, false, 0, 0, 1,
	 MISUSE_INVALID},
	{"double, where there are older blocks", 0, IMAGE_EXITED, 0, 0, false, true, true, false, 1,
	 0, 0, MISUSE_DOUBLE_FREE},
};

TEST(surroundings, "what a gap in the recording can explain is not certain")
{
	for (u32 i = 0; i < sizeof surroundings / sizeof *surroundings; i++) {
		struct feed feed = feed_functions();
		struct judged judged;
		u64 freed = tell_alloc(&feed, HW_MALLOC, ALLOCATE, 16);

		tell_alloc(&feed, HW_MALLOC, ALLOCATE, 16); /* at 0x1010 */
		tell_free_by(&feed, HW_FREE, FREE_FIRST, freed, address_of(freed));
		if (surroundings[i].implied)
			tell_event(&feed, (struct event){.kind = HW_FREE,
							 .flags = EVENT_IMPLIED,
							 .chunk = tell_alloc(&feed, HW_MALLOC,
									     ALLOCATE, 9)});
		tell_free_by(&feed, HW_FREE, FREE_AGAIN, NO_CHUNK,
			     surroundings[i].address ? surroundings[i].address : address_of(freed));
		if (surroundings[i].goes_on)
			tell_alloc(&feed, HW_MALLOC, ALLOCATE, 1);
		if (surroundings[i].paused)
			tell_event(&feed, (struct event){.kind = HW_MARK, .aux = HW_MARK_PAUSED});
		if (surroundings[i].continued)
			feed.model->image.flags |= HW_RUN_CONTINUED;
		tell_thread(&feed, 0);
		tell_end_by(&feed, surroundings[i].how, surroundings[i].signal,
			    surroundings[i].lost);
		judge(&judged, &feed);
		if (!(CHECK_EQ(judged.table.certain, surroundings[i].certain) &
		      CHECK_EQ(judged.table.possible, surroundings[i].possible) &
		      CHECK_EQ(judged.table.not_judged, surroundings[i].not_judged)))
			fprintf(stderr, "# %s\n", surroundings[i].name);
		if (judged.table.rows.count)
			CHECK_EQ(judged.table.rows.data[0].what, surroundings[i].what);
		misuse_table_release(&judged.table);
		model_free(feed.model);
	}
}

static const struct {
	u8 alloc_kind;
	u32 alloc_context;
	u8 free_kind;
	u32 free_context;
	u64 certain, possible;
} families[] = {
	{HW_MALLOC, ALLOCATE, HW_FREE, FREE_FIRST, 0, 0},
	{HW_CALLOC, ALLOCATE, HW_REALLOC_FREE, FREE_FIRST, 0, 0},
	{HW_MEMALIGN, ALLOCATE, HW_FREE, FREE_FIRST, 0, 0},
	{HW_NEW, ALLOCATE, HW_DELETE, FREE_FIRST, 0, 0},
	{HW_NEW_ARRAY, ALLOCATE, HW_DELETE_ARRAY, FREE_FIRST, 0, 0},
	{HW_MALLOC, ALLOCATE, HW_DELETE, FREE_FIRST, 1, 0},
	{HW_REALLOC, ALLOCATE, HW_DELETE_ARRAY, FREE_FIRST, 1, 0},
	{HW_NEW, ALLOCATE, HW_FREE, FREE_FIRST, 1, 0},
	{HW_NEW, ALLOCATE, HW_REALLOC_FREE, FREE_FIRST, 1, 0},
	{HW_NEW, ALLOCATE, HW_DELETE_ARRAY, FREE_FIRST, 1, 0},
	{HW_NEW_ARRAY, ALLOCATE, HW_DELETE, FREE_FIRST, 1, 0},
	{HW_NEW_ARRAY, ALLOCATE, HW_FREE, FREE_FIRST, 1, 0},
	/* operators of the program's own */
	{HW_MALLOC, OWN_NEW, HW_DELETE, FREE_FIRST, 0, 0},
	{HW_MALLOC, OWN_NEW, HW_DELETE_ARRAY, FREE_FIRST, 0, 0},
	{HW_NEW, ALLOCATE, HW_FREE, OWN_DELETE, 0, 0},
	{HW_NEW_ARRAY, ALLOCATE, HW_FREE, OWN_DELETE, 0, 0},
	/* who knows whose */
	{HW_MALLOC, NAMELESS, HW_DELETE, FREE_FIRST, 0, 1},
	{HW_NEW, ALLOCATE, HW_FREE, NAMELESS, 0, 1},
	{HW_NEW, ALLOCATE, HW_FREE, 0, 0, 1},
};

TEST(families, "a block must be freed by the family that allocated it")
{
	for (u32 i = 0; i < sizeof families / sizeof *families; i++) {
		struct feed feed = feed_functions();
		struct judged judged;
		u64 chunk = tell_alloc(&feed, families[i].alloc_kind, families[i].alloc_context, 8);

		tell_free_by(&feed, families[i].free_kind, families[i].free_context, chunk,
			     address_of(chunk));
		tell_end_by(&feed, IMAGE_EXITED, 0, 0);
		judge(&judged, &feed);
		if (!(CHECK_EQ(judged.table.certain, families[i].certain) &
		      CHECK_EQ(judged.table.possible, families[i].possible)))
			fprintf(stderr, "# row %u\n", i);
		misuse_table_release(&judged.table);
		model_free(feed.model);
	}
}

TEST(implied, "a free that was not seen has no family")
{
	struct feed feed = feed_functions();
	struct judged judged;

	tell_event(&feed, (struct event){.kind = HW_FREE,
					 .flags = EVENT_IMPLIED,
					 .chunk = tell_alloc(&feed, HW_NEW, ALLOCATE, 9)});
	tell_end_by(&feed, IMAGE_EXITED, 0, 0);
	judge(&judged, &feed);
	CHECK_EQ(judged.table.rows.count, 0);
	misuse_table_release(&judged.table);
	model_free(feed.model);
}

TEST(together, "wrong frees with the same stacks are one row, and a flood is kept in bounds")
{
	struct feed feed = feed_functions();
	struct judged judged;

	for (u32 i = 0; i < 1000; i++) {
		u64 chunk = tell_alloc(&feed, HW_NEW, ALLOCATE, 10);

		tell_free_by(&feed, HW_FREE, FREE_FIRST, chunk, address_of(chunk));
	}
	for (u32 i = 0; i < MISFITS_MAX + 5; i++)
		tell_free_by(&feed, HW_FREE, FREE_AGAIN, NO_CHUNK, PROGRAM_BASE + 0x100 + i % 64);
	tell_end_by(&feed, IMAGE_EXITED, 0, 0);
	judge(&judged, &feed);
	CHECK_EQ(judged.table.rows.count, 2);
	CHECK_EQ(judged.table.certain, 1000 + MISFITS_MAX);
	CHECK_EQ(judged.table.not_listed, 5);
	misuse_table_release(&judged.table);
	model_free(feed.model);
}
