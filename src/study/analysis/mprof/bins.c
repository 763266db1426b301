/* SPDX-License-Identifier: MIT
 * Chunks by size, sizes by type.
 * Host. Sizes come from the trace; types from files that may be gone or changed by now, which is
 * said and is no error. */
#include "study/analysis/mprof/bins.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/path.h"
#include "study/analysis/places/modules.h"
#include "host/base/strbuf.h"
#include "host/base/units.h"
#include "host/symbols/types/sizes.h"
#include "study/result/field.h"

enum { EXACT_MAX = 1024, TYPES_SHOWN = 8 };

static const struct result_column columns[] = {
	NUMBER_COLUMN("size", "size", VALUE_BYTES,
		      "smallest size of the bin; none in the row for all sizes"),
	COLUMN("size_end", NULL, VALUE_BYTES, "largest size of the bin; none if there is no limit"),
	NUMBER_COLUMN("allocations", "allocs", VALUE_COUNT, "allocations of this size"),
	NUMBER_COLUMN("bytes", "bytes", VALUE_BYTES, "bytes allocated in chunks of this size"),
	SHARE_COLUMN("share", "share of all allocated bytes"),
	NUMBER_COLUMN("frees", "frees", VALUE_COUNT, "freed chunks of this size"),
	NUMBER_COLUMN("kept_bytes", "kept", VALUE_BYTES,
		      "bytes of chunks of this size that were never freed"),
	SHARE_COLUMN("kept_share", "share of all bytes never freed"),
	COLUMN("types", "types", VALUE_TEXT, "types of exactly this size, the program's own first"),
};

struct bin {
	u64 first, end; /* sizes, both inclusive */
	u64 allocations, bytes, frees, kept;
	bool always; /* shown also if it is small */
};

struct bins {
	const struct model *model;
	const struct mprof_bins_query *query;
	struct model_size *sizes; /* ascending */
	u64 size_count;
	VEC(struct bin) bins;
	struct bin total;
	VEC(u64) wanted; /* sizes that types are looked for */
	struct typesizes types;
	struct module_list modules;
	struct result *table;
};

/* ---- sizes ---- */

static struct bin bin_of(const struct bins *self, u64 size)
{
	if (!self->query->log)
		return size > EXACT_MAX ? (struct bin){.first = EXACT_MAX + 1,
						       .end = UINT64_MAX,
						       .always = true}
					: (struct bin){.first = size, .end = size};
	if (size == 0)
		return (struct bin){0};
	size = (u64)1 << (63 - __builtin_clzll(size));
	return (struct bin){.first = size, .end = size + (size - 1)};
}

static void bin_add(struct bin *bin, const struct model_size *size, bool keeps)
{
	bin->allocations += size->units;
	bin->bytes += size->bytes;
	bin->frees += size->units - size->live_units;
	bin->kept += keeps ? size->live_bytes : 0;
}

static bool fill_bins(struct bins *self)
{
	bool keeps = !model_keeps_nothing(self->model);

	for (u64 i = 0; i < self->size_count; i++) {
		struct bin bin = bin_of(self, self->sizes[i].size);
		u64 count = self->bins.count;

		if ((count == 0 || self->bins.data[count - 1].first != bin.first) &&
		    !vec_push(&self->bins, bin))
			return false;
		bin_add(&self->bins.data[self->bins.count - 1], &self->sizes[i], keeps);
		bin_add(&self->total, &self->sizes[i], keeps);
	}
	/* The bin of large chunks is there also without any. */
	return self->query->log ||
	       (self->bins.count && self->bins.data[self->bins.count - 1].always) ||
	       vec_push(&self->bins, bin_of(self, UINT64_MAX));
}

/* Keeps the bins that are shown. */
static void choose(struct bins *self)
{
	u64 kept = 0;

	for (u64 i = 0; i < self->bins.count; i++) {
		const struct bin *bin = &self->bins.data[i];

		if (bin->always ||
		    mprof_is_shown(self->query->verbosity, bin->bytes, self->total.bytes))
			self->bins.data[kept++] = *bin;
	}
	self->bins.count = kept;
}

/* ---- types ---- */

static bool has_types(const struct bin *bin) { return bin->end != UINT64_MAX && bin->first; }

/* Sizes that were allocated and whose bin is shown. */
static bool list_wanted(struct bins *self)
{
	u64 bin = 0;

	for (u64 i = 0; i < self->size_count; i++) {
		u64 size = self->sizes[i].size;

		while (bin < self->bins.count && self->bins.data[bin].end < size)
			bin++;
		if (bin < self->bins.count && self->bins.data[bin].first <= size &&
		    has_types(&self->bins.data[bin]) && !vec_push(&self->wanted, size))
			return false;
	}
	return true;
}

static void add_type_caveats(struct bins *self)
{
	struct strbuf missing = {0};
	u32 count = 0;

	for (u64 i = 0; i < self->modules.rows.count && self->wanted.count; i++) {
		const char *path = self->modules.rows.data[i].path;

		if (self->types.states[i] == SYMBOLIZER_MISSING && strcmp(path, "[vdso]") != 0)
			strbuf_addf(&missing, "%s%s", count++ ? ", " : "", path_file(path));
		else if (self->types.states[i] == SYMBOLIZER_STRIPPED && i < self->modules.own)
			result_add_caveat(self->table,
					  "types of %s are unknown: it has no debug information; "
					  "build it with -g",
					  path);
	}
	if (count)
		result_add_caveat(self->table,
				  "some types are unknown, because the recorded file is missing or "
				  "has changed: %s",
				  strbuf_text(&missing));
	if (self->types.lost_units)
		result_add_caveat(self->table, "%s not found",
				  units_things(self->types.lost_units, ".dwo file(s) with types "
								       "(was|were)")
					  .text);
	if (self->types.stopped)
		result_add_caveat(self->table,
				  "only part of the debug information was searched for types, "
				  "because there is too much of it");
	strbuf_release(&missing);
}

static int read_types(struct bins *self, struct err *err)
{
	struct typesizes_query query = {.debug_path = self->query->debug_path,
					.max_bytes = self->query->type_bytes};
	int status;

	if (self->query->no_types)
		return 0;
	if (!list_wanted(self) || !module_list_fill(&self->modules, self->model))
		return err_memory_for(err, "the bins");
	query.modules = self->modules.rows.data;
	query.module_count = (u32)self->modules.rows.count;
	query.own_modules = self->modules.own;
	query.sizes = self->wanted.data;
	query.size_count = self->wanted.count;
	status = typesizes_read(&self->types, &query, err);
	if (status == 0)
		add_type_caveats(self);
	return status;
}

/* The names for a bin: all of them for programs, the first few for people, without what is only the
 * system's. */
static struct value types_of(struct bins *self, const struct bin *bin)
{
	const struct typesizes *types = &self->types;
	bool every = self->query->verbosity == MPROF_VERBOSE;
	struct strbuf all = {0}, few = {0};
	struct value value = value_unknown();
	u64 shown = 0, more = 0;

	if (self->query->no_types || !has_types(bin))
		return value;
	for (u64 i = typesizes_first(types, bin->first);
	     i < types->count && types->data[i].size <= bin->end; i++) {
		const struct sized_type *type = &types->data[i];

		strbuf_addf(&all, "%s%s", all.count ? ", " : "", type->name);
		if (every || (type->rank != TYPE_RESERVED && shown < TYPES_SHOWN))
			strbuf_addf(&few, "%s%s", shown++ ? ", " : "", type->name);
		else
			more += type->rank != TYPE_RESERVED;
	}
	if (more)
		strbuf_addf(&few, " and %" PRIu64 " more", more);
	if (all.count) {
		value = value_text(result_copy(self->table, strbuf_text(&all)));
		value.shown = result_copy(self->table, strbuf_text(&few));
	}
	self->table->failed |= all.failed || few.failed;
	strbuf_release(&all);
	strbuf_release(&few);
	return value;
}

/* ---- rows ---- */

static struct value size_of_bin(struct bins *self, const struct bin *bin)
{
	struct value size = value_number(bin->first);

	if (bin == &self->total)
		return value_shown(value_unknown(), "<TOTAL>");
	if (bin->end == UINT64_MAX)
		size.shown = "> 1024";
	else if (bin->end != bin->first)
		size.shown =
			result_format(self->table, "%" PRIu64 "-%" PRIu64, bin->first, bin->end);
	return size;
}

static void add_row(struct bins *self, const struct bin *bin)
{
	bool total = bin == &self->total;

	result_row(self->table, size_of_bin(self, bin),
		   value_if(bin->end != UINT64_MAX, value_number(bin->end)),
		   value_units(self->model, bin->allocations), value_number(bin->bytes),
		   mprof_whole(total, mprof_share(bin->bytes, self->total.bytes)),
		   value_units(self->model, bin->frees), value_number(bin->kept),
		   mprof_whole(total, mprof_share(bin->kept, self->total.kept)),
		   types_of(self, bin));
}

static void fill(struct bins *self)
{
	self->table->grid = true;
	for (u64 i = 0; i < self->bins.count; i++)
		add_row(self, &self->bins.data[i]);
	add_row(self, &self->total);
	if (self->model->aggregated)
		result_add_caveat(self->table,
				  "sizes cover the allocations before the trace reached its size "
				  "limit");
}

struct result *analyse_mprof_bins(const struct model *model, const struct mprof_bins_query *query,
				  struct err *err)
{
	struct bins self = {.model = model, .query = query};
	int status;

	self.total.end = UINT64_MAX;
	self.table = result_table("bins", "Allocation bins", columns);
	self.sizes = model_sizes_sorted(model, &self.size_count);
	status = self.table && self.sizes && fill_bins(&self) ? 0 : err_memory_for(err, "the bins");
	if (status == 0) {
		choose(&self);
		status = read_types(&self, err);
	}
	if (status == 0)
		fill(&self);
	free(self.sizes);
	vec_release(&self.bins);
	vec_release(&self.wanted);
	module_list_release(&self.modules);
	typesizes_release(&self.types);
	return result_made_if(status == 0, self.table, err, "the bins");
}
