/* SPDX-License-Identifier: MIT
 * The bill as tables, and in words; see bill_result.h.
 * Host. */
#include "study/analysis/resident/bill_result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/units.h"
#include "study/analysis/places/allocator.h"
#include "study/analysis/resident/arenas.h"
#include "study/analysis/resident/series.h"
#include "study/analysis/resident/thread_caches.h"
#include "study/result/field.h"

enum {
	ARENAS_MANY = 4,
	LEAST_PARTS = 1000, /* points with less are shown only if all are */
};

static u64 part(const struct bill *bill, enum resident_part number)
{
	return bill->account.bytes[number];
}

/* ---- cause ---- */

static u64 live_bytes(const struct bill *bill)
{
	return part(bill, PART_REQUESTED) + part(bill, PART_SLACK);
}

/* Neither the heap nor the recorder. */
static u64 other_bytes(const struct bill *bill)
{
	return part(bill, PART_MAPPINGS) + part(bill, PART_FILES) + part(bill, PART_CODE) +
	       part(bill, PART_STACKS);
}

/* At least so much that is free lies in huge pages: all else may do so, too. */
static u64 find_huge(const struct bill *bill)
{
	u64 huge = bill->memory->huge_bytes;
	u64 rest = other_bytes(bill) + part(bill, PART_RECORDER) + live_bytes(bill);

	return huge > rest ? huge - rest : 0;
}

/* Most of what is in huge pages is what glibc asked to have them. */
static bool has_libc_huge(const struct bill *bill)
{
	return bill->memory->libc_huge_bytes * 2 > bill->memory->huge_bytes;
}

/* In which no block ever lay. */
static u64 unused_bytes(const struct bill *bill)
{
	return bill->unused_bytes[0] + bill->unused_bytes[1] + bill->strange_bytes;
}

enum bill_cause bill_free_cause(const struct bill *bill, const struct cut *cut)
{
	u64 pinned = part(bill, PART_PINNED), cached = part(bill, PART_CACHED);
	u64 caches = part(bill, PART_THREAD_CACHES), hold = bill_caches_hold(bill);
	struct arenas arenas = arenas_find(bill);

	if (pinned + cached + caches == 0)
		return BILL_LIVE;
	if (caches + hold > pinned + cached - hold)
		return BILL_THREAD_CACHES;
	/* Nothing but a huge page makes resident what nobody has touched. */
	if (has_libc_huge(bill) && unused_bytes(bill) * 2 >= pinned + cached)
		return BILL_HUGE_PAGES;
	if (cut->count && cut->most_bytes * 2 >= pinned + cached)
		return BILL_PINNED_BY_FEW;
	if (arenas.count > ARENAS_MANY && arenas.free_bytes * 2 > pinned + cached &&
	    arenas_excess(bill) * 2 > pinned + cached)
		return BILL_ARENAS;
	if (find_huge(bill) * 2 >= pinned + cached)
		return BILL_HUGE_PAGES;
	return pinned > cached - hold ? BILL_PINNED_BY_MANY : BILL_NOT_GIVEN_BACK;
}

enum bill_cause bill_cause(const struct bill *bill, const struct cut *cut)
{
	u64 live = live_bytes(bill), others = other_bytes(bill);
	u64 free_bytes =
		part(bill, PART_PINNED) + part(bill, PART_CACHED) + part(bill, PART_THREAD_CACHES);

	if (live >= free_bytes && live >= others)
		return BILL_LIVE;
	return others > free_bytes ? BILL_NOT_HEAP : bill_free_cause(bill, cut);
}

static const char *cause_name(enum bill_cause cause)
{
	static const char *const names[] = {
		[BILL_LIVE] = "live",
		[BILL_PINNED_BY_FEW] = "pinned_by_few",
		[BILL_PINNED_BY_MANY] = "pinned_by_many",
		[BILL_NOT_GIVEN_BACK] = "not_given_back",
		[BILL_ARENAS] = "arenas",
		[BILL_THREAD_CACHES] = "thread_caches",
		[BILL_HUGE_PAGES] = "huge_pages",
		[BILL_NOT_HEAP] = "not_heap",
	};

	return names[cause];
}

static enum bill_repair give_back(const struct model *model)
{
	static const struct {
		const char *allocator;
		enum bill_repair repair;
	} ways[] = {
		{"jemalloc", REPAIR_JEMALLOC},
		{"tcmalloc", REPAIR_TCMALLOC},
		{"mimalloc", REPAIR_MIMALLOC},
	};
	const char *name = allocator_name(model);

	for (u32 i = 0; name && i < sizeof ways / sizeof *ways; i++)
		if (strcmp(ways[i].allocator, name) == 0)
			return ways[i].repair;
	return allocator_is_glibc(model) ? REPAIR_TRIM : REPAIR_GIVE_BACK;
}

enum bill_repair bill_repair(const struct model *model, enum bill_cause cause)
{
	switch (cause) {
	case BILL_PINNED_BY_FEW: return REPAIR_POOL;
	case BILL_PINNED_BY_MANY: return REPAIR_APART;
	case BILL_ARENAS: return REPAIR_ARENAS;
	case BILL_THREAD_CACHES: return REPAIR_THREAD_CACHES;
	case BILL_HUGE_PAGES: return REPAIR_HUGE_PAGES;
	case BILL_NOT_GIVEN_BACK: return give_back(model);
	case BILL_LIVE:
	case BILL_NOT_HEAP:
	case BILL_CAUSES: break;
	}
	return REPAIR_ELSEWHERE;
}

enum bill_repair bill_repair_of(const struct bill *bill, enum bill_cause cause)
{
	return cause == BILL_HUGE_PAGES && has_libc_huge(bill) ? REPAIR_LIBC_HUGE_PAGES
							       : bill_repair(bill->model, cause);
}

const char *bill_repair_text(enum bill_repair repair)
{
	static const char *const texts[REPAIRS] = {
		[REPAIR_ELSEWHERE] = "see whose it is with 'heapwise findings'",
		[REPAIR_POOL] = "give the few that stay a pool or heap of their own",
		[REPAIR_APART] = "allocate long-lived memory apart from short-lived memory",
		[REPAIR_ARENAS] =
			"limit the arenas: MALLOC_ARENA_MAX=2, or mallopt(M_ARENA_MAX, 2)",
		[REPAIR_THREAD_CACHES] =
			"keep fewer blocks for each thread: "
			"GLIBC_TUNABLES=glibc.malloc.tcache_count=2, or use fewer threads",
		[REPAIR_HUGE_PAGES] = "turn transparent huge pages off for this program: "
				      "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)",
		[REPAIR_LIBC_HUGE_PAGES] = "GLIBC_TUNABLES=glibc.malloc.hugetlb=0 undoes it",
		[REPAIR_TRIM] =
			"call malloc_trim() afterwards, or free in reverse order of allocation",
		[REPAIR_JEMALLOC] = "lower its decay times: "
				    "MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0",
		[REPAIR_TCMALLOC] = "raise its release rate: TCMALLOC_RELEASE_RATE=10",
		[REPAIR_MIMALLOC] = "lower its delay: MIMALLOC_PURGE_DELAY=0",
		[REPAIR_GIVE_BACK] = "make the allocator give free pages back",
	};

	return repair < REPAIRS ? texts[repair] : texts[REPAIR_ELSEWHERE];
}

static const char *sentence(struct result *result, const struct bill *bill, const struct cut *cut,
			    enum bill_cause cause)
{
	static const char *const texts[BILL_CAUSES] = {
		[BILL_LIVE] = "most of it is live",
		[BILL_PINNED_BY_MANY] = "live blocks are spread over pages that are nearly free",
		[BILL_NOT_GIVEN_BACK] = "free pages were not given back",
		[BILL_NOT_HEAP] = "most of it is not the heap: mappings, code and stacks",
	};
	struct arenas arenas = arenas_find(bill);
	const char *text = texts[cause];

	if (cause == BILL_PINNED_BY_FEW)
		text = result_format(result,
				     "blocks of %s, %s live, hold pages that are nearly free",
				     units_things(cut->count, "point(s)").text,
				     units_bytes(cut->live_bytes).text);
	if (cause == BILL_ARENAS)
		text = result_format(result, "%s is free in %" PRIu64 " arenas of threads",
				     units_bytes(arenas.free_bytes).text, arenas.count);
	if (cause == BILL_THREAD_CACHES)
		text = result_format(result, "%s is free in caches of %s",
				     units_bytes(part(bill, PART_THREAD_CACHES)).text,
				     units_things(bill->memory->caches_read, "thread(s)").text);
	if (cause == BILL_HUGE_PAGES && has_libc_huge(bill))
		text = result_format(result, "glibc's huge pages hold %s",
				     units_bytes(bill->memory->libc_huge_bytes).text);
	else if (cause == BILL_HUGE_PAGES)
		text = result_format(result, "%s is in huge pages, which are resident as a whole",
				     units_bytes(bill->memory->huge_bytes).text);
	if (cause == BILL_NOT_HEAP)
		return text;
	return text ? result_format(result, "%s; %s", text,
				    bill_repair_text(bill_repair_of(bill, cause)))
		    : NULL;
}

/* ---- tables ---- */

static struct result *parts_table(const struct bill *bill)
{
	static const struct result_column columns[] = {
		COLUMN("part", "part", VALUE_TEXT, "part of the resident memory"),
		COLUMN("bytes", "bytes", VALUE_BYTES, "resident bytes"),
		COLUMN("share", "share", VALUE_SHARE, "share of the resident memory"),
		COLUMN("meaning", "meaning", VALUE_TEXT, "what the part is"),
	};
	struct result *table = result_table("parts", "Resident memory", columns);

	for (u32 i = 0; table && i < PARTS; i++)
		result_row(table, value_text(resident_part_name(i)),
			   value_number(bill->account.bytes[i]),
			   value_real(units_share(bill->account.bytes[i], bill->memory->rss_bytes)),
			   value_text(resident_part_meaning(i)));
	return table;
}

struct charged {
	struct point_id point;
	u64 bytes; /* that are not live */
};

static int by_bytes(const void *a, const void *b)
{
	const struct charged *x = a, *y = b;

	return x->bytes != y->bytes ? rising(y->bytes, x->bytes)
				    : rising(x->point.index, y->point.index);
}

static const struct result_column point_columns[] = {
	COLUMN("point", NULL, VALUE_ID, "allocation point"),
	COLUMN("pinned_bytes", "pinned", VALUE_BYTES,
	       "free bytes of pages that its live blocks hold, shared equally with other points"),
	COLUMN("left_bytes", "left behind", VALUE_BYTES,
	       "free bytes of pages with live blocks, last used by its freed blocks"),
	COLUMN("cached_bytes", "cached", VALUE_BYTES,
	       "bytes of free pages, last used by its freed blocks"),
	COLUMN("thread_caches_bytes", "thread caches", VALUE_BYTES,
	       "bytes of its freed blocks that the C library keeps for threads"),
	COLUMN("requested_bytes", "live", VALUE_BYTES, "resident bytes of its live blocks"),
	COLUMN("slack_bytes", "slack", VALUE_BYTES, "headers and rounding of its live blocks"),
	COLUMN("blocks", "blocks", VALUE_COUNT, "live blocks"),
	COLUMN("alone_pages", NULL, VALUE_COUNT, "pages that only its live blocks hold"),
	COLUMN("stack", "stack", VALUE_STACK, "innermost frame first"),
};

enum { AT_CACHES = 4 };

/* Without a column of zeros. */
static struct result *new_points(const struct bill *bill, const char *name, const char *title)
{
	struct result *table = result_table(name, title, point_columns);

	if (table && !table->failed && !part(bill, PART_THREAD_CACHES))
		table->columns.data[AT_CACHES].label = NULL;
	return table;
}

static void add_point(struct result *table, const struct bill *bill,
		      const struct stack_source *source, struct point_id point)
{
	const struct bill_line *line = &bill->lines[point.index];

	result_row(table, value_number(point.index), value_number(line->pinned_bytes),
		   value_number(line->left_bytes), value_number(line->cached_bytes),
		   value_number(line->caches_bytes), value_number(line->requested_bytes),
		   value_number(line->slack_bytes), value_number(line->blocks),
		   value_number(line->alone_pages), stack_of_point(source, point, table));
}

static struct result *points_table(const struct bill *bill, const struct stack_source *source,
				   u64 top)
{
	u64 points = bill->model->points.count, count = 0, shown = 0;
	u64 least = bill->memory->rss_bytes / LEAST_PARTS;
	struct charged *rows = calloc(points + 1, sizeof *rows);
	struct result *table =
		rows ? new_points(bill, "points", "Charged to allocation points") : NULL;

	for (u32 i = 0; table && i < points; i++) {
		const struct bill_line *line = &bill->lines[i];
		u64 bytes = line->pinned_bytes + line->left_bytes + line->cached_bytes +
			    line->caches_bytes + line->slack_bytes;

		if (bytes + line->requested_bytes)
			rows[count++] = (struct charged){{i}, bytes};
	}
	if (table) {
		qsort(rows, count, sizeof *rows, by_bytes);
		while (shown < result_top(count, top) && (!top || rows[shown].bytes >= least))
			add_point(table, bill, source, rows[shown++].point);
		result_add_more(table, count, shown);
	}
	free(rows);
	return table;
}

static struct result *cut_table(const struct bill *bill, const struct cut *cut,
				const struct stack_source *source)
{
	struct result *table = new_points(bill, "cut_points", "Worth a heap of their own");

	for (u32 i = 0; table && i < cut->count; i++)
		add_point(table, bill, source, cut->points[i]);
	if (table)
		table->hidden_in_text = !cut->count;
	return table;
}

/* ---- all ---- */

static const char *basis_text(struct result *result, const struct bill *bill)
{
	switch (bill->basis) {
	case CLASSES_RULES:
		return result_format(result, bill->glibc ? "by %s's rules" : "by %s's size classes",
				     bill->allocator);
	case CLASSES_INFERRED: return "inferred from addresses";
	case CLASSES_UNKNOWN: break;
	}
	return "unknown";
}

static void add_fields(struct result *result, const struct bill *bill, const struct cut *cut)
{
	enum bill_cause cause = bill_cause(bill, cut);

	result_field(result, "time_ns", "time", VALUE_NS,
		     value_number(tick_clock_ns(&bill->model->clock, bill->memory->ticks)),
		     "time of this look since the start of the recording");
	result_field(result, "rss_bytes", "resident", VALUE_BYTES,
		     value_number(bill->memory->rss_bytes),
		     "resident memory as the kernel reports it");
	result_field(result, "sum_bytes", "sum of parts", VALUE_BYTES,
		     value_number(bill->account.sum_bytes), "sum of all parts");
	result_field(result, "slack_basis", "slack", VALUE_TEXT,
		     value_text(basis_text(result, bill)),
		     "how headers and rounding of blocks are known: by the rules or size classes "
		     "of an allocator, inferred from addresses, or unknown");
	result_field(result, "cause", NULL, VALUE_TEXT, value_text(cause_name(cause)),
		     "what most of it is: live, pinned_by_few, pinned_by_many, not_given_back, "
		     "arenas, thread_caches, huge_pages or not_heap");
	result_field(result, "advice", "cause", VALUE_TEXT,
		     value_text(sentence(result, bill, cut, cause)), "the same in words",
		     .below = true);
	result_field(result, "cut.least_bytes", cut->count ? "cut saves" : NULL, VALUE_BYTES,
		     value_number(cut->least_bytes),
		     "what the allocator gives back at once if the blocks of the cut lie in a heap "
		     "of their own; 0 of others than glibc's, which keep free pages for later",
		     .remark = "to {cut.most_bytes} with {cut.points:point} in a heap of their "
			       "own, which have {cut.live_bytes} live");
	result_field(result, "cut.most_bytes", NULL, VALUE_BYTES, value_number(cut->most_bytes),
		     "the same if all free pages are given back");
	result_field(result, "cut.points", NULL, VALUE_COUNT, value_number(cut->count),
		     "allocation points of the cut");
	result_field(result, "cut.live_bytes", NULL, VALUE_BYTES, value_number(cut->live_bytes),
		     "live bytes to be moved, on pages that they share");
	result_field(result, "cut.bound_bytes", NULL, VALUE_BYTES, value_number(cut->bound_bytes),
		     "pinned bytes in all; no cut saves more of them");
	result_field(result, "huge_bytes", NULL, VALUE_BYTES,
		     value_number(bill->memory->huge_bytes),
		     "resident bytes in huge pages, as the kernel reports them");
	result_field(result, "libc_huge_bytes", NULL, VALUE_BYTES,
		     value_number(bill->memory->libc_huge_bytes),
		     "of these, in what glibc's allocator asked to have huge pages");
	result_field(result, "unused_bytes", NULL, VALUE_BYTES, value_number(unused_bytes(bill)),
		     "bytes of the allocator's pages in which no recorded block ever lay");
}

static void add_bill_caveats(struct result *result, const struct bill *bill)
{
	if (bill->basis == CLASSES_UNKNOWN)
		result_add_caveat(result, "the allocator's size classes are not known; its "
					  "rounding counts as pinned");
	if (bill->model->image.sample_bytes || bill->model->aggregated || bill->model->pauses)
		result_add_caveat(result, "some blocks are unknown; their memory counts as pinned "
					  "or cached");
}

int bill_missing(const char *path, struct err *err)
{
	return err_set(err, ERR_INPUT,
		       "%s: no look at resident memory; the run was too short, or its memory could "
		       "not be read",
		       path);
}

struct result *bill_result(const struct bill *bill, const struct stack_source *source, u64 top,
			   struct err *err)
{
	struct result *result = result_new(RESULT_RECORD, "resident", "Resident memory");
	struct cut cut;
	bool good = result && cut_find(&cut, bill, err) == 0;

	if (good) {
		add_fields(result, bill, &cut);
		add_bill_caveats(result, bill);
		result_add_part(result, parts_table(bill));
		thread_caches_say(result, bill);
		result_add_part(result, thread_caches_table(bill, top, err));
		result_add_part(result, thread_cache_sizes_table(bill, top, err));
		result_add_part(result, arenas_table(bill, top, err));
		result_add_part(result, cut_table(bill, &cut, source));
		result_add_part(result, points_table(bill, source, top));
	}
	return result_made_if(good, result, err, "the resident memory");
}
