/* SPDX-License-Identifier: MIT
 * What was found of excessive allocation, as results.
 * Host. */
#include <string.h>

#include "study/analysis/emad/excessive.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/mprof/text.h"
#include "host/base/order.h"
#include "host/base/units.h"
#include "study/model/durations.h"
#include "study/result/field.h"

/* ---- tables ---- */

static const struct result_column columns[] = {
	COLUMN("caller", "caller", VALUE_TEXT, "routine to which the allocation is attributed"),
	COLUMN("size_bytes", "size", VALUE_BYTES,
	       "requested bytes of each chunk; the mean if sizes are taken together"),
	COLUMN("destroyer", "destroyer", VALUE_TEXT, "routine to which the free is attributed"),
	COLUMN("frequency", "frequency", VALUE_COUNT, "number of chunks"),
	COLUMN("life_ns", "mean life", VALUE_NS, "mean time from allocation to free"),
	COLUMN("ratio", "R", VALUE_RATIO, "frequency / mean life in milliseconds"),
	COLUMN("reuse", "reuse", VALUE_RATIO,
	       "time from its first allocation to its last free / mean life"),
	COLUMN("cluster", "cluster", VALUE_ID, "number of its cluster, 1 = the most frequent"),
	COLUMN("found_by", "found by", VALUE_TEXT,
	       "method that found it: kmeans, iqr, both, or none"),
	COLUMN("allocator_ns", "allocator", VALUE_NS,
	       "estimated time in the allocator, for all chunks"),
	COLUMN("via", "through", VALUE_TEXT,
	       "wrapper of the allocator that was skipped; the most frequent one if several"),
	COLUMN("via_share", NULL, VALUE_SHARE, "share of the chunks allocated through it"),
	COLUMN("freed_via", NULL, VALUE_TEXT, "wrapper of the deallocator that was skipped"),
	COLUMN("module", NULL, VALUE_PATH, "file that contains the caller"),
	COLUMN("least_bytes", NULL, VALUE_BYTES, "requested bytes of its smallest chunk"),
	COLUMN("most_bytes", NULL, VALUE_BYTES, "requested bytes of its largest chunk"),
	COLUMN("set_aside", NULL, VALUE_TEXT, "methods that found it before it was set aside"),
	COLUMN("reason", NULL, VALUE_TEXT, "why it was set aside: cheap, rare or lasting"),
};

static const char *found_word(u32 by)
{
	static const char *const words[] = {NULL, "kmeans", "iqr", "both"};

	return by & BY_FLOOR ? "floor" : words[by & BY_BOTH];
}

static const char *const reasons[] = {
	[REASON_CHEAP] = "cheap", [REASON_RARE] = "rare", [REASON_LASTS] = "lasting"};

static struct value routine(const struct excessive *self, struct result *table,
			    struct function_id function)
{
	return mprof_name(table, object_routine(&self->objects, function), 36, "");
}

/* Names the most frequent wrapper only, and says if there are others. */
static struct value wrapper(const struct excessive *self, struct result *table,
			    const struct alloc_object *object)
{
	bool only = object->via.units == object->units;

	if (object->via.function.index == NO_WRAPPER)
		return value_unknown();
	return mprof_name(table, object_routine(&self->objects, object->via.function), 36,
			  only ? "" : ", others");
}

static struct value size_value(struct result *table, const struct alloc_object *object)
{
	struct value value = value_number(object->size);

	if (object->least != object->most)
		value.shown = result_format(table, "%s - %s", units_bytes(object->least).text,
					    units_bytes(object->most).text);
	return value;
}

static const char *module_of(const struct object_table *self, const struct alloc_object *object)
{
	const struct mprof_call *call = &self->calls.calls.data[object->first_call];

	return frame_module_path(self->source,
				 context_table_frame(&self->source->model->contexts, call->frame));
}

/* found is NULL for what is not judged. */
static void add_object(const struct excessive *self, struct result *table,
		       const struct alloc_object *object, const struct excessive_row *found)
{
	static const struct excessive_row none = {.cluster = UINT8_MAX};
	const struct excessive_row *row = found ? found : &none;
	double frequency = object_frequency(&self->objects, object),
	       pair_ns = excessive_pair_ns(self, object);

	result_row(table, routine(self, table, object->caller), size_value(table, object),
		   routine(self, table, object->destroyer), value_number((u64)(frequency + 0.5)),
		   value_if(found, value_number((u64)(row->life_ms * 1e6 + 0.5))),
		   value_if(found, value_real(row->ratio)), value_if(found, value_real(row->reuse)),
		   value_if(row->cluster != UINT8_MAX, value_number(row->cluster + 1u)),
		   value_text(found_word(row->found_by)),
		   value_if(found && pair_ns > 0, value_number((u64)(pair_ns * frequency))),
		   wrapper(self, table, object),
		   value_if(object->via.function.index != NO_WRAPPER,
			    value_real((double)object->via.units / (double)object->units)),
		   object->freed_via.function.index != NO_WRAPPER
			   ? routine(self, table, object->freed_via.function)
			   : value_unknown(),
		   value_text(result_copy(table, module_of(&self->objects, object))),
		   value_number(object->least), value_number(object->most),
		   value_text(found_word(row->set_aside)), value_text(reasons[row->reason]));
}

static struct result *object_table_new(const char *name, const char *title)
{
	struct result *table = result_table(name, title, columns);

	if (table)
		table->grid = true;
	return table;
}

/* Those of a list of rows, or all rows if it is NULL; empty NULL = text leaves out a table without
 * rows. */
static struct result *rows_table(struct result *table, const struct excessive *self,
				 const u32 *list, u64 count, const char *empty)
{
	if (!table)
		return NULL;
	table->empty = empty;
	table->hidden_in_text = !empty && !count;
	for (u64 i = 0; i < count; i++) {
		const struct excessive_row *row = &self->rows.data[list ? list[i] : i];

		add_object(self, table, &self->objects.rows.data[row->object], row);
	}
	return table;
}

/* Those found; or, where there are too few to judge, what there is. */
static struct result *found_table(const struct excessive *self)
{
	u64 top = self->query->top;

	if (!self->enough)
		return rows_table(object_table_new("found", "Allocation objects"), self, NULL,
				  result_top(self->rows.count, top), "none");
	return rows_table(object_table_new("found", "Excessive allocation objects"), self,
			  self->found.data, result_top(self->found.count, top), "none");
}

static struct result *callers_table(const struct excessive *self)
{
	return rows_table(object_table_new("callers", "Excessive by caller, sizes taken together "
						      "(--by caller)"),
			  self->callers, self->varied.data,
			  result_top(self->varied.count, self->query->top), NULL);
}

static struct result *set_aside_table(const struct excessive *self)
{
	return rows_table(object_table_new("set_aside", "Set aside (not counted as excessive)"),
			  self, self->set_aside.data,
			  result_top(self->set_aside.count, self->query->top), NULL);
}

static struct result *data_table(const struct excessive *self, bool hidden)
{
	struct result *table = rows_table(object_table_new("objects", "Data set"), self, NULL,
					  result_top(self->rows.count, self->query->objects), NULL);

	if (table)
		table->hidden_in_text = hidden;
	return table;
}

static int most_frequent(const void *a, const void *b)
{
	const struct alloc_object *x = *(const struct alloc_object *const *)a,
				  *y = *(const struct alloc_object *const *)b;

	return falling(x->units, y->units) ?: rising((uintptr_t)x, (uintptr_t)y);
}

static struct result *never_freed_table(const struct excessive *self)
{
	struct result *table = object_table_new("never_freed", "Never freed (not judged)");
	VEC(const struct alloc_object *) kept = {0};

	if (!table)
		return NULL;
	table->empty = "none";
	for (u64 i = 0; i < self->objects.rows.count; i++)
		if (!object_is_freed(&self->objects.rows.data[i]) &&
		    !vec_push(&kept, &self->objects.rows.data[i]))
			table->failed = true;
	vec_sort(&kept, most_frequent);
	for (u64 i = 0; i < result_top(kept.count, self->query->top); i++)
		add_object(self, table, kept.data[i], NULL);
	vec_release(&kept);
	return table;
}

static struct result *cluster_table(const struct excessive *self)
{
	static const struct result_column of_clusters[] = {
		COLUMN("cluster", "cluster", VALUE_ID, "number, 1 = the most frequent"),
		COLUMN("objects", "objects", VALUE_COUNT, "objects in it"),
		COLUMN("mean_frequency", "mean frequency", VALUE_RATIO,
		       "mean of their frequencies; geometric unless --raw"),
		COLUMN("mean_life_ns", "mean life", VALUE_NS,
		       "mean of their mean lives; geometric unless --raw"),
		COLUMN("apart", "life is off by", VALUE_RATIO,
		       "mean life less that of cluster 1, in their pooled standard deviations"),
		COLUMN("excessive", "excessive", VALUE_BOOL,
		       "it has the highest frequency and the lowest life, and it matters"),
	};
	struct result *table = result_table("clusters", "Clusters", of_clusters);

	for (u32 c = 0; table && c < self->clusters.k; c++)
		result_row(table, value_number(c + 1), value_number(self->clusters.members[c]),
			   value_real(self->mean_frequency[c]),
			   value_number((u64)(self->mean_life_ms[c] * 1e6 + 0.5)),
			   value_real(self->apart[c]), value_number(c == self->guilty));
	return table;
}

static struct result *silhouette_table(const struct excessive *self)
{
	static const struct result_column of_ks[] = {
		COLUMN("k", "k", VALUE_COUNT, "number of clusters"),
		COLUMN("silhouette", "silhouette", VALUE_RATIO,
		       "how well they are separated, up to 1"),
	};
	struct result *table = result_table("silhouettes", "Silhouettes", of_ks);

	if (!table)
		return NULL;
	table->hidden_in_text = true;
	for (u32 k = 2; k <= KMEANS_AUTO_MAX; k++)
		if (self->silhouettes[k] != 0)
			result_row(table, value_number(k), value_real(self->silhouettes[k]));
	return table;
}

/* ---- the record ---- */

/* Text has the cost in fields of its own: a title is one line. */
static const char *first_sentence(struct result *result, const char *text)
{
	const char *end = strstr(text, ". ");

	return end ? arena_copy_text(&result->arena, text, (u64)(end + 1 - text))
		   : result_copy(result, text);
}

static void add_kmeans(struct result *result, const struct excessive *self)
{
	const struct excessive_query *query = self->query;

	result_field(result, "kmeans.found", "objects found", VALUE_COUNT,
		     value_number(self->found_kmeans), "objects in the excessive cluster",
		     .section = "Clusters (k-means)");
	result_field(result, "kmeans.k", "k", VALUE_COUNT, value_number(self->clusters.k),
		     "number of clusters");
	result_field(result, "kmeans.k_from", "k is", VALUE_TEXT,
		     value_text(query->k ? "given" : "that of the best silhouette"),
		     "how k was chosen");
	result_field(result, "kmeans.silhouette", "silhouette", VALUE_RATIO,
		     value_real(self->clusters.silhouette),
		     "how well clusters are separated, up to 1");
	result_field(result, "kmeans.features", "features", VALUE_TEXT,
		     value_text(query->raw ? "frequency and life as they are"
					   : "standardised logarithms of frequency and life"),
		     "what is clustered");
	result_field(result, "kmeans.seed", NULL, VALUE_ID, value_number(query->seed),
		     "seed of the random starts");
	result_field(result, "kmeans.restarts", NULL, VALUE_COUNT, value_number(query->restarts),
		     "random starts, of which the tightest is used");
}

static void add_iqr(struct result *result, const struct excessive *self)
{
	const struct excessive_iqr *iqr = &self->iqr;

	result_field(result, "iqr.found", "objects found", VALUE_COUNT,
		     value_number(self->found_iqr), "objects above the threshold",
		     .section = "Ratios R, in 1/ms (outliers)");
	result_field(result, "iqr.q1", "Q1", VALUE_RATIO, value_real(iqr->q1), "first quartile");
	result_field(result, "iqr.q3", "Q3", VALUE_RATIO, value_real(iqr->q3), "third quartile");
	result_field(result, "iqr.iqr", "IQR", VALUE_RATIO, value_real(iqr->iqr), "Q3 - Q1");
	result_field(result, "iqr.mu", "mu", VALUE_RATIO, value_real(iqr->mu),
		     "number of IQRs above Q3");
	result_field(result, "iqr.mu_from", "mu is", VALUE_TEXT, value_text(iqr->mu_from),
		     "how mu was chosen");
	result_field(result, "iqr.threshold", "threshold", VALUE_RATIO, value_real(iqr->threshold),
		     "Q3 + mu × IQR");
	result_field(result, "iqr.low", "lowest R", VALUE_RATIO, value_real(iqr->low),
		     "of all objects");
	result_field(result, "iqr.high", "highest R", VALUE_RATIO, value_real(iqr->high),
		     "of all objects");
}

static void add_totals(struct result *result, const struct excessive *self,
		       const struct excessive_cost *cost)
{
	result_field(result, "excessive", NULL, VALUE_BOOL, value_number(excessive_is_found(self)),
		     "a method found an object, or a caller with all of its sizes");
	result_field(result, "rule", "rule", VALUE_TEXT,
		     value_text(self->query->paper ? "paper" : "robust"), "deciding rule");
	if (!self->query->paper)
		result_field(result, "floor", "floor", VALUE_SHARE, value_real(self->query->floor),
			     "share of the run's CPU time and of all allocations below which an "
			     "object is set aside");
	result_field(result, "set_aside_objects", self->set_aside.count ? "set aside" : NULL,
		     VALUE_COUNT, value_number(self->set_aside.count),
		     "objects found that are rare, lasting or cheap");
	result_field(result, "judged", NULL, VALUE_BOOL,
		     value_number(self->enough || self->found.count),
		     "whether there were enough objects, or one is excessive among few");
	result_field(result, "freed_objects", NULL, VALUE_COUNT, value_number(self->rows.count),
		     "freed allocation objects");
	result_field(result, "never_freed_objects", NULL, VALUE_COUNT,
		     value_number(self->objects.rows.count - self->rows.count),
		     "allocation objects that were never freed");
	result_field(result, "found_allocations",
		     excessive_is_found(self) ? "their allocations" : NULL, VALUE_COUNT,
		     value_number((u64)(cost->allocations + 0.5)), "chunks of the objects found");
	if (!(cost->allocator_ns > 0))
		return;
	result_field(result, "allocator_ns", "time in the allocator", VALUE_NS,
		     value_number((u64)cost->allocator_ns),
		     "estimated time in the allocator for them");
	result_field(result, "pool_saves_ns", "a pool would save", VALUE_NS,
		     value_number((u64)cost->pool_saves_ns),
		     "estimated part of that time that a pool would save");
}

/* Below so many timed calls a single slow one may decide what "costs enough" means. */
enum { TIMED_CALLS_FEW = 100 };

static void add_own_caveats(struct result *result, const struct excessive *self)
{
	u64 timed = self->costs.all.timed;

	if (!self->query->paper && excessive_is_slowed(self))
		result_add_caveat(result, "instrumentation slowed the run, so the floor applies to "
					  "numbers of allocations instead of time; record without "
					  "--routines and --access to compare costs with the run");
	else if (!self->query->paper && timed && !self->costs.all.enough)
		result_add_caveat(result,
				  "only %s timed, too few to estimate the cost of "
				  "allocations: the floor applies to numbers of allocations",
				  units_things(timed, "call(s) (was|were)").text);
	else if (!self->query->paper && timed && timed < TIMED_CALLS_FEW)
		result_add_caveat(result,
				  "the cost of allocations is estimated from only %s: near the "
				  "floor, another run may decide otherwise",
				  units_things(timed, "timed call(s)").text);
	if (self->objects.frees_without_stack)
		result_add_caveat(result,
				  "%s freed by an unknown routine: objects are distinguished by "
				  "size and caller only",
				  units_things(self->objects.frees_without_stack, "chunk(s) (was|"
										  "were)")
					  .text);
	if (self->query->paper && self->found_iqr > self->found_both &&
	    self->query->methods == BY_BOTH)
		result_add_caveat(result, "ratios also find objects that are rare and very "
					  "short-lived; check the frequency of those found by iqr "
					  "alone");
}

struct result *excessive_result(const struct excessive *self, struct err *err)
{
	struct result *result = result_new(RESULT_RECORD, "excessive", "");
	struct excessive_cost cost = excessive_cost(self);
	struct strbuf verdict = {0};

	if (!result)
		return result_made(NULL, err, "the result");
	excessive_verdict(self, &verdict);
	result->title = first_sentence(result, strbuf_text(&verdict));
	result_field(result, "conclusion", NULL, VALUE_TEXT,
		     value_text(result_copy(result, strbuf_text(&verdict))), "in words");
	strbuf_release(&verdict);
	add_totals(result, self, &cost);
	if (self->enough && (self->query->methods & BY_KMEANS))
		add_kmeans(result, self);
	if (self->enough && (self->query->methods & BY_IQR))
		add_iqr(result, self);
	add_caveats(result, self->objects.source->model, self->query->info);
	add_own_caveats(result, self);
	result_add_part(result, found_table(self));
	result_add_part(result, callers_table(self));
	result_add_part(result, set_aside_table(self));
	result_add_part(result, excessive_paths(self));
	if (self->clusters.k)
		result_add_part(result, cluster_table(self));
	result_add_part(result, silhouette_table(self));
	result_add_part(result, never_freed_table(self));
	result_add_part(result, data_table(self, true));
	return result_made(result, err, "the result");
}

struct result *excessive_data(const struct excessive *self, struct err *err)
{
	return result_made(data_table(self, false), err, "the result");
}
