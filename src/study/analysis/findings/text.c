/* SPDX-License-Identifier: MIT
 * Findings in words.
 * Host. Sentences state the number first and the usual repair last. */
#include <string.h>

#include "host/base/path.h"
#include "study/analysis/resident/bill_result.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/findings/text.h"
#include "study/analysis/typing/types.h"
#include "host/base/bytemap.h"
#include "host/base/units.h"

enum { RANGES_SHOWN = 3 };

static struct unit_text count_of(const struct model *model, u64 units)
{
	return units_count(model_count(model, units));
}

/* "9,812 of 10,000 chunks", or "all 10,000 chunks"; with their bytes. */
static void put_chunks(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	u64 chunks = model_count(model, finding->chunks);

	if (finding->chunks == finding->of_chunks && chunks == 1)
		strbuf_add(out, "The only chunk");
	else if (finding->chunks == finding->of_chunks)
		strbuf_addf(out, "All %s chunks", units_count(chunks).text);
	else
		strbuf_addf(out, "%s of %s", units_count(chunks).text,
			    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
	strbuf_addf(out, " (%s)", units_bytes(finding->bytes).text);
}

static const char *was_or_were(const struct finding *finding, const struct model *model)
{
	return model_count(model, finding->chunks) == 1 ? "was" : "were";
}

static struct unit_text mean_time(const struct finding *finding, const struct model *model)
{
	double chunks = (double)finding->timed_chunks / (double)(1ull << model->count_shift);
	double ticks = chunks > 0 ? finding->ticks / chunks : 0;

	return units_ns(rounded(tick_clock_span_ns(&model->clock, ticks)));
}

/* "MiB a second" of growth, or nothing where it does not grow, or the run was too short for a
 * forecast. */
static void put_rate(struct strbuf *out, const struct finding *finding)
{
	double gib_ns = 0x1p30 / finding->bytes_per_s * 1e9;

	if (finding->bytes_per_s <= 0 || finding->short_run)
		return;
	strbuf_addf(out, ", by %s a second", units_bytes(rounded(finding->bytes_per_s)).text);
	if (gib_ns < 100.0 * 24 * 3600 * 1e9)
		strbuf_addf(out, " (1 GiB in %s)", units_ns(rounded(gib_ns)).text);
}

static void put_misuse(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	static const char *const texts[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "Frees a block that was freed before",
		[MISUSE_INSIDE] = "Frees an address inside a block",
		[MISUSE_INVALID] = "Frees an address that was never a block",
		[MISUSE_MISMATCH] = "Frees a block with the wrong deallocator",
	};
	/* What else may look so; see misuse.c. */
	static const char *const doubts[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "unless an unrecorded call of the allocator explains it",
		[MISUSE_INSIDE] = "unless an unrecorded call of the allocator explains it",
		[MISUSE_INVALID] = "unless an unrecorded call of the allocator explains it",
		[MISUSE_MISMATCH] = "unless an operator without a symbol name explains it",
	};
	u64 times = model_count(model, finding->chunks);

	strbuf_add(out, texts[finding->misuse]);
	if (times > 1)
		strbuf_addf(out, ", %s", units_things(times, "time(s)").text);
	if (finding->confidence != SURE_MEASURED)
		strbuf_addf(out, ", %s", doubts[finding->misuse]);
}

static void put_leak(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	bool one = model_count(model, finding->chunks) == 1;

	put_chunks(out, finding, model);
	strbuf_addf(out, " %s never freed", was_or_were(finding, model));
	if (finding->chunk_class == CLASS_LOST)
		strbuf_addf(out, ", and nothing points to %s any more", one ? "it" : "them");
	else if (finding->chunk_class == CLASS_INDIRECT)
		strbuf_addf(out, ", and only lost chunks point to %s", one ? "it" : "them");
	else if (finding->chunk_class == CLASS_POSSIBLE)
		strbuf_addf(out, ", and only interior pointers lead to %s", one ? "it" : "them");
	else if (finding->chunk_class == CLASS_REACHABLE)
		strbuf_addf(out, ", though pointers to %s remain", one ? "it" : "them");
	if (finding->led_bytes)
		strbuf_addf(out, ", nor to %s that only %s", units_bytes(finding->led_bytes).text,
			    one ? "it leads to" : "they lead to");
	if (finding->bytes_per_s > 0) {
		strbuf_add(out, "; the amount grows until the end");
		put_rate(out, finding);
	}
}

/* Which bytes no chunk ever uses, if that is known and there are any. */
static void put_unused_bytes(struct strbuf *out, const struct point_map *map)
{
	u64 unused = map->size - bytemap_count(map->words, map->size);

	if (!unused)
		return;
	strbuf_addf(out, "; byte%s ", unused == 1 ? "" : "s");
	bytemap_add_ranges(out, map->words, map->size, false, RANGES_SHOWN);
	strbuf_add(out, unused == 1 ? " is" : " are");
	if (map->chunks > 1)
		strbuf_addf(out, " used in none of %s", units_count(map->chunks).text);
	else
		strbuf_add(out, " not");
}

/* Of several stacks at one place, as of a container's parts, the one that costs most. */
static void put_costliest(struct strbuf *out, const struct finding *finding,
			  const struct model *model)
{
	u64 each = rounded(finding->costliest.used);

	if (!finding->costliest.size || finding->points < 2)
		return;
	strbuf_addf(out, ", %s%s of %s bytes in %s of them",
		    (double)each == finding->costliest.used ? "" : "about ", units_count(each).text,
		    units_count(finding->costliest.size).text,
		    count_of(model, finding->costliest.of_chunks).text);
}

/* Sizes differ: bytes of all, else of one chunk. */
static void put_coverage(struct strbuf *out, const struct finding *finding,
			 const struct model *model)
{
	double chunks = (double)finding->chunks / (double)(1ull << model->count_shift);
	u64 used = rounded(finding->covered_bytes);

	if (finding->min_size == finding->max_size && chunks > 0) {
		u64 each = rounded(finding->covered_bytes / chunks);

		strbuf_addf(out, "Only %s%s of %s bytes %s ever used",
			    (double)each * chunks == finding->covered_bytes ? "" : "about ",
			    units_count(each).text, units_count(finding->max_size).text,
			    each == 1 ? "is" : "are");
	} else {
		strbuf_addf(out, "Only %s of %s %s ever used", units_bytes(used).text,
			    units_bytes(finding->bytes).text, used == 1 ? "is" : "are");
	}
	strbuf_addf(out, ", in %s of %s", count_of(model, finding->chunks).text,
		    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
	put_unused_bytes(out, &finding->map);
	if (finding->min_size != finding->max_size)
		put_costliest(out, finding, model);
}

static void put_churn(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	strbuf_addf(out, "Allocated and freed %s",
		    units_things(model_count(model, finding->chunks), "time(s)").text);
	if (finding->ticks > 0)
		strbuf_addf(out, ", on average after %s", mean_time(finding, model).text);
	if (finding->temporary)
		strbuf_add(out, ", before the next allocation");
}

static void put_growing(struct strbuf *out, const struct finding *finding,
			const struct model *model)
{
	const struct growth_run *run = &finding->growth;

	if (!run->steps) {
		strbuf_addf(out, "Resized %s by realloc",
			    units_things(model_count(model, finding->chunks), "time(s)").text);
		return;
	}
	strbuf_addf(out, "Grew %s from %s to %s", units_things(run->steps, "time(s)").text,
		    units_bytes(run->from_bytes).text, units_bytes(run->to_bytes).text);
	if (finding->growth_runs > 1)
		strbuf_addf(out, ", one of %s such runs", units_count(finding->growth_runs).text);
}

static void put_growth(struct strbuf *out, const struct finding *finding)
{
	if (finding->short_run)
		strbuf_addf(out, "Live bytes grew to %s until the end of this short run",
			    units_bytes(finding->bytes).text);
	else
		strbuf_add(out, "Live bytes grow until the end");
	put_rate(out, finding);
}

/* "Registry::sessions, held by registry (main.c:12), grew by 31,204 elements (Session) and 3 MiB in
 * 60 s" */
static void put_grows_in(struct strbuf *out, const struct finding *finding,
			 const struct model *model)
{
	strbuf_add(out, finding->grows.container);
	if (*finding->grows.root)
		strbuf_addf(out, ", held by %s,", finding->grows.root);
	strbuf_add(out, " grew by ");
	if (finding->chunks)
		strbuf_addf(out, "%s (%s) and ",
			    units_things(model_count(model, finding->chunks), "element(s)").text,
			    finding->grows.element);
	strbuf_addf(out, "%s in %s", units_bytes(finding->bytes).text,
		    units_ns(finding->lasted_ns).text);
	put_rate(out, finding);
}

/* Stacks of one place may have contents in common. */
static void put_twice(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	put_chunks(out, finding, model);
	strbuf_addf(out, " had the same bytes as another chunk at the scan, with %s%s in all",
		    finding->points > 1 ? "at most " : "",
		    units_things(finding->different, "content(s)").text);
}

static void put_peak(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	if (finding->of_arena)
		strbuf_addf(out,
			    "An arena filled by %s holds %s at the peak, in chunks of %s to %s",
			    units_things(finding->points, "stack(s)").text,
			    units_bytes(finding->bytes).text, units_bytes(finding->min_size).text,
			    units_bytes(finding->max_size).text);
	else if (finding->of_entry)
		strbuf_addf(out,
			    "What this call makes the library allocate, from %u stacks, holds "
			    "%s at the peak",
			    finding->points, units_bytes(finding->bytes).text);
	else if (finding->of_type && finding->min_size == finding->max_size)
		strbuf_addf(out, "Chunks of %s, from %s, hold %s at the peak",
			    units_things(finding->min_size, "byte(s)").text,
			    units_things(finding->points, "stack(s)").text,
			    units_bytes(finding->bytes).text);
	else if (finding->of_type)
		strbuf_addf(out, "Objects of this type, from %s, hold %s at the peak",
			    units_things(finding->points, "stack(s)").text,
			    units_bytes(finding->bytes).text);
	else
		strbuf_addf(out, "Holds %s at the peak", units_bytes(finding->bytes).text);
	if (finding->kind == FINDING_BURST)
		strbuf_addf(out, ", at least half of it for only %s of the run",
			    finding->held < 0.01 ? "1 % or less"
						 : units_percent(finding->held).text);
	if (finding->left_bytes >= finding->bytes)
		strbuf_add(out, model_keeps_nothing(model) ? ", and all of it lived to the end"
							   : ", and it was never freed");
	else if (finding->left_bytes)
		strbuf_addf(out, ", %s at the end", units_bytes(finding->left_bytes).text);
}

/* How much of what is free was last used from here. */
static void put_here(struct strbuf *out, const struct finding *finding, const char *left)
{
	double share = finding->stays.here;

	if (!finding->stays.count)
		strbuf_addf(out, ", most of it %s here", left);
	else if (share >= 0.995)
		strbuf_addf(out, ", all of it %s here", left);
	else if (share >= 0.005)
		strbuf_addf(out, ", %s of it %s here", units_percent(share).text, left);
}

static void put_pinned(struct strbuf *out, const struct finding *finding)
{
	if (finding->stays.count == 1)
		strbuf_add(out, "Chunks from here");
	else
		strbuf_addf(out, "Chunks of %u points (%s)", finding->stays.count,
			    finding->stays.names);
	strbuf_addf(out, ", %s live, pin %s", units_bytes(finding->stays.live_bytes).text,
		    units_bytes(finding->bytes).text);
}

static const char *not_given_back_text(enum bill_repair repair)
{
	switch (repair) {
	case REPAIR_HUGE_PAGES: return "Huge pages kept %s of free memory resident";
	case REPAIR_LIBC_HUGE_PAGES: return "glibc's huge pages hold %s of free memory";
	case REPAIR_THREAD_CACHES: return "Thread caches kept %s of free blocks";
	default: return "The allocator kept %s of free pages";
	}
}

static void put_stays(struct strbuf *out, const struct finding *finding)
{
	struct unit_text free_bytes = units_bytes(finding->bytes);

	if (finding->kind == FINDING_PINNED) {
		put_pinned(out, finding);
	} else if (finding->kind == FINDING_LEFT_BEHIND) {
		strbuf_addf(out, "Freed chunks left %s free on pages that ", free_bytes.text);
		if (finding->stays.count)
			strbuf_addf(out, "live chunks of %s hold",
				    units_things(finding->stays.count, "point(s)").text);
		else
			strbuf_add(out, "live chunks hold");
		put_here(out, finding, "from");
	} else if (finding->kind == FINDING_NOT_GIVEN_BACK) {
		strbuf_addf(out, not_given_back_text(finding->stays.repair), free_bytes.text);
		put_here(out, finding, "last used from");
	} else {
		strbuf_addf(out, "%u arenas of threads hold %s of free memory",
			    finding->stays.count, units_bytes(finding->stays.free_bytes).text);
		put_here(out, finding, "last used from");
	}
	strbuf_addf(out, "; %s stayed resident for %s with %s live",
		    units_bytes(finding->of_bytes).text, units_ns(finding->lasted_ns).text,
		    units_bytes(finding->left_bytes).text);
}

static void put_seen(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	switch (finding->kind) {
	case FINDING_MISUSE: put_misuse(out, finding, model); break;
	case FINDING_LEAK:
	case FINDING_KEPT: put_leak(out, finding, model); break;
	case FINDING_GROWTH: put_growth(out, finding); break;
	case FINDING_GROWS_IN: put_grows_in(out, finding, model); break;
	case FINDING_TWICE: put_twice(out, finding, model); break;
	case FINDING_PEAK:
	case FINDING_BURST: put_peak(out, finding, model); break;
	case FINDING_PINNED:
	case FINDING_LEFT_BEHIND:
	case FINDING_NOT_GIVEN_BACK:
	case FINDING_ARENAS: put_stays(out, finding); break;
	case FINDING_UNUSED:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s never accessed", was_or_were(finding, model));
		break;
	case FINDING_WRITE_ONLY:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s written but never read", was_or_were(finding, model));
		break;
	case FINDING_READ_ONLY:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s read but never written", was_or_were(finding, model));
		break;
	case FINDING_COVERAGE: put_coverage(out, finding, model); break;
	case FINDING_EARLY:
		strbuf_addf(out, "Allocated on average %s before the first use, in %s of %s",
			    mean_time(finding, model).text, count_of(model, finding->chunks).text,
			    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
		break;
	case FINDING_LATE:
		strbuf_addf(out, "Held on average %s after the last use, in %s of %s",
			    mean_time(finding, model).text, count_of(model, finding->chunks).text,
			    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
		break;
	case FINDING_CHURN: put_churn(out, finding, model); break;
	case FINDING_GROWING: put_growing(out, finding, model); break;
	case FINDING_ZERO_SIZE:
		strbuf_add(out, units_things(model_count(model, finding->chunks), "allocation(s) "
										  "of 0 bytes")
					.text);
		break;
	case FINDING_KINDS: break;
	}
}

static const char *leak_repair(const struct finding *finding)
{
	switch (finding->chunk_class) {
	case CLASS_LOST: return "free the memory before the last pointer to it is gone";
	case CLASS_INDIRECT: return "free it together with the memory that points to it";
	case CLASS_POSSIBLE: return "free the memory, unless its start can still be found";
	case CLASS_REACHABLE: return "free the memory when it is no longer needed";
	default: return "free the memory, unless it must live as long as the program";
	}
}

const char *finding_repair(const struct finding *finding)
{
	static const char *const of_misuse[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "give the block one owner, and clear the pointer after free",
		[MISUSE_INSIDE] = "pass free the pointer that the allocator returned",
		[MISUSE_INVALID] = "free only memory that was allocated",
		[MISUSE_MISMATCH] = "pair malloc with free, new with delete, new[] with delete[]",
	};
	static const char *const of_kind[FINDING_KINDS] = {
		[FINDING_GROWTH] = "limit the size, or free what is no longer needed",
		[FINDING_GROWS_IN] = "limit its size, or remove what is no longer needed",
		[FINDING_TWICE] = "keep one copy of each content, and share it",
		[FINDING_UNUSED] = "allocate only when the memory is needed",
		[FINDING_WRITE_ONLY] = "do not fill memory that nothing reads",
		[FINDING_READ_ONLY] = "share one constant instead",
		[FINDING_COVERAGE] = "allocate only what is needed",
		[FINDING_EARLY] = "allocate just before the first use",
		[FINDING_LATE] = "free right after the last use",
		[FINDING_GROWING] = "reserve the final size first",
		[FINDING_ZERO_SIZE] = "skip the call when the size is 0",
		[FINDING_PEAK] = "hold less at once, or store it more compactly",
		[FINDING_BURST] = "work in smaller pieces",
	};

	if (finding->kind == FINDING_MISUSE)
		return of_misuse[finding->misuse];
	if (finding->kind == FINDING_LEAK || finding->kind == FINDING_KEPT)
		return leak_repair(finding);
	if (finding->of_arena)
		return "put less into it, or free it sooner; --no-fold shows who fills it";
	if (finding_stays(finding))
		return bill_repair_text((enum bill_repair)finding->stays.repair);
	if (finding->kind == FINDING_CHURN)
		return finding->temporary && finding->max_size <= 4096 ? "use the stack, or reuse "
									 "one buffer"
								       : "reuse one buffer";
	return of_kind[finding->kind];
}

const char *finding_seen(const struct finding *finding, const struct model *model,
			 struct result *result)
{
	struct strbuf text = {0};

	put_seen(&text, finding, model);
	return result_take(result, &text);
}

const char *finding_text(const struct finding *finding, const struct model *model,
			 struct result *result)
{
	struct strbuf text = {0};

	put_seen(&text, finding, model);
	strbuf_addf(&text, ": %s.", finding_repair(finding));
	return result_take(result, &text);
}

/* Whether the saving depends on what the program, or the allocator, does then. */
static bool is_at_most(const struct finding *finding)
{
	return finding_holds_peak(finding) ||
	       (finding->kind == FINDING_PINNED &&
		(double)finding->stays.least_bytes < finding->saving.amount);
}

const char *finding_saves(const struct finding *finding, struct result *result)
{
	static const char *const wholes[SAVING_UNITS] = {
		[SAVING_BYTES_PER_S] = "of the peak",
		[SAVING_PEAK_BYTES] = "of the peak",
		[SAVING_MEAN_BYTES] = "of the mean heap",
		[SAVING_RESIDENT_BYTES] = "of resident memory",
		[SAVING_CPU_NS] = "of CPU time",
	};
	const struct saving *saving = &finding->saving;
	struct strbuf text = {0};
	u64 amount = rounded(saving->amount);

	if (saving->unit == SAVING_CPU_NS)
		strbuf_addf(&text, "about %s", units_ns(amount).text);
	else if (saving->unit != SAVING_NONE)
		strbuf_addf(&text, "%s%s%s", is_at_most(finding) ? "up to " : "",
			    units_bytes(amount).text,
			    saving->unit == SAVING_BYTES_PER_S ? "/s" : "");
	if (saving->unit != SAVING_NONE)
		strbuf_addf(&text, ", %s %s",
			    units_percent(saving->share < 1 ? saving->share : 1).text,
			    wholes[saving->unit]);
	return result_take(result, &text);
}

static void put_frame(struct strbuf *out, const struct finding_frame *frame)
{
	if (*frame->function)
		strbuf_add(out, frame->function);
	else if (*frame->module)
		strbuf_addf(out, "%s+0x%llx", path_file(frame->module),
			    (unsigned long long)frame->offset);
	else
		strbuf_add(out, "unknown place");
	if (*frame->file && frame->line)
		strbuf_addf(out, " (%s:%u)", path_file(frame->file), frame->line);
	else if (*frame->function && *frame->module)
		strbuf_addf(out, " (%s)", path_file(frame->module));
}

const char *finding_where(const struct finding *finding, const struct stack_source *source,
			  struct result *result)
{
	struct finding_place place = finding_place_of(source, finding);
	const char *type = stack_type(source, finding->frame);
	struct strbuf text = {0};

	put_frame(&text, &place.own);
	if (*place.caller.module || *place.caller.function) {
		strbuf_add(&text, ", called by ");
		put_frame(&text, &place.caller);
	}
	if (type)
		strbuf_addf(&text, ": %s", type);
	return result_take(result, &text);
}
