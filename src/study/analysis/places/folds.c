/* SPDX-License-Identifier: MIT
 * Which functions are wrappers, by the stacks of all allocation points.
 * Host. Names are looked up once per frame; what is decided then goes by numbers of functions. */
#include "study/analysis/places/folds.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/keyed.h"
#include "host/base/path.h"
#include "host/base/strbuf.h"
#include "host/base/units.h"
#include "study/result/field.h"

enum {
	CHAIN = 8,  /* functions of a stack that are looked at, innermost first */
	ROUNDS = 4, /* wrappers around wrappers */
	/* distinct ones that make a wrapper of a function whose name says nothing */
	FORM_CALLERS = 5,
	NAME_CALLERS = 2, /* and of one whose name says that it allocates something */
	/* and of a call without a name: of those several may be in one function */
	CALL_CALLERS = 10,
	FORM_SIZES = 2,   /* the largest mean size is at least so many times the smallest */
	NEAR_BYTES = 512, /* of code between a wrapper and a call beside it */
	SHOWN = 3,
};

/* Part of the callers that allocate through the function rather than without it: 9 of 10. */
static const u32 THROUGH = 9, THROUGH_OF = 10;

struct function {
	struct fold fold;
	bool folded;
	bool allocates; /* its name says so, and may say of what */
	/* a wrapper, of those that are told by more than their place, is between it and the
	 * allocator */
	bool around;
	u32 through; /* callers that allocate rather through it */
	/* of a call without a name: what stands for all those of its module; else itself */
	u32 nameless;
	u64 own; /* allocations of points at which it is the innermost that is not folded */
};

struct pair {
	u32 function, caller;
	u64 allocations;
};

struct chain { /* of a frame: the program's own functions from there outwards */
	u32 functions[CHAIN];
	u32 count;
};

struct finder {
	const struct stack_source *source;
	const struct wrappers *asked;
	VEC(struct function) functions;
	struct map by_name; /* hash → function + 1 */
	struct map by_pair; /* function << 32 | caller → pair + 1 */
	VEC(struct pair) pairs;
	struct {
		u32 first, count; /* in names; first 0 = not looked up */
	} * frames;
	VEC(u32) names; /* own functions of frames, + 1; 0 = the beginning */
};

static u64 key_of_fold(const struct fold *fold)
{
	return fold_key(fold->module, fold->function, fold->address);
}

/* ---- functions of stacks ---- */

static bool judge_name(const struct finder *self, struct function *function)
{
	const char *name = function->fold.function;

	if (!*name)
		return false;
	if (self->asked && wrappers_allocates(self->asked, name)) {
		function->fold.why = FOLD_ASKED;
		return true;
	}
	function->fold.why = FOLD_NAME;
	function->allocates = wrapper_name_allocates(name);
	return wrapper_name_is_allocator(name);
}

static bool function_at(struct finder *self, const char *module, const char *name, u64 address,
			u32 *number)
{
	struct function one = {
		.fold = {.function = name, .module = module, .address = *name ? 0 : address}};
	u64 *known;

	one.nameless = (u32)self->functions.count;
	if (one.fold.address && !function_at(self, module, name, 0, &one.nameless))
		return false;
	known = map_at(&self->by_name, key_of_fold(&one.fold));
	if (!known)
		return false;
	if (!*known) {
		one.folded = judge_name(self, &one);
		if (!vec_push(&self->functions, one))
			return false;
		*known = self->functions.count;
	}
	*number = (u32)*known - 1;
	return true;
}

/* Notes the own functions of one frame, which many stacks share. */
static bool look_up(struct finder *self, u32 index)
{
	struct stack_names names = stack_names(self->source, (struct frame_id){index});
	u64 address = self->source->model->contexts.frames.data[index].address;
	u32 number;

	self->frames[index].first = (u32)self->names.count;
	for (u32 i = 0; i == 0 || i < names.count; i++) {
		const char *name = names.count ? names.frames[i].function : "";

		if (!frame_is_own(names.module, name, names.count ? names.frames[i].file : ""))
			continue;
		if (!function_at(self, names.module, name, address, &number) ||
		    !vec_push(&self->names, number))
			return false;
	}
	self->frames[index].count = (u32)self->names.count - self->frames[index].first;
	return true;
}

static bool chain_of(struct finder *self, struct frame_id id, struct chain *chain)
{
	const struct context_table *contexts = &self->source->model->contexts;

	chain->count = 0;
	for (u32 at = id.index; at && chain->count < CHAIN; at = contexts->frames.data[at].parent) {
		if (!self->frames[at].first && !look_up(self, at))
			return false;
		for (u32 i = 0; i < self->frames[at].count && chain->count < CHAIN; i++) {
			u32 number = self->names.data[self->frames[at].first + i];

			if (!chain->count || chain->functions[chain->count - 1] != number)
				chain->functions[chain->count++] = number;
		}
	}
	return true;
}

/* ---- sums ---- */

static bool add_call(struct finder *self, u32 function, u32 caller, u64 allocations)
{
	struct pair *pair = vec_at_key(&self->pairs, &self->by_pair, (u64)function << 32 | caller,
				       (struct pair){function, caller, 0});

	if (pair)
		pair->allocations += allocations;
	return pair != NULL;
}

static void add_point(struct fold *fold, const struct model *model, const struct model_point *point)
{
	u64 count = model_count(model, point->allocations),
	    mean = point->bytes / (count ? count : 1);

	if (!fold->points++ || mean < fold->min_bytes)
		fold->min_bytes = mean;
	if (mean > fold->max_bytes)
		fold->max_bytes = mean;
	fold->allocations += point->allocations;
	fold->bytes += point->bytes;
}

/* A function without a name that a wrapper calls: part of the wrapper. */
static bool is_inside(const struct finder *self, const struct chain *chain)
{
	return chain->count > 1 && !*self->functions.data[chain->functions[0]].fold.function &&
	       self->functions.data[chain->functions[1]].folded;
}

/* Callers without names count as one to a function that has a name, whose callers are functions. */
static u32 caller_of(const struct finder *self, const struct chain *chain, u32 i)
{
	u32 caller = chain->functions[i + 1];

	return *self->functions.data[chain->functions[i]].fold.function
		       ? self->functions.data[caller].nameless
		       : caller;
}

/* What a function allocates without wrappers; all those of a module that have no name count
 * together, too. */
static void add_own(struct finder *self, struct function *function, u64 allocations)
{
	struct function *nameless = &self->functions.data[function->nameless];

	function->own += allocations;
	if (nameless != function)
		nameless->own += allocations;
}

/* Counts for each wrapper of the point's stack, and for the function that may be the next one, who
 * calls it. */
static bool tally_point(struct finder *self, const struct model_point *point)
{
	struct chain chain;

	if (!chain_of(self, point->frame, &chain))
		return false;
	for (u32 i = 0; i < chain.count; i++) {
		struct function *function = &self->functions.data[chain.functions[i]];

		if (i == 0 && is_inside(self, &chain))
			continue;
		function->around |=
			i > 0 && self->functions.data[chain.functions[i - 1]].fold.why != FOLD_NEAR;
		if (!function->folded)
			add_own(self, function, point->allocations);
		add_point(&function->fold, self->source->model, point);
		if (i + 1 < chain.count &&
		    !add_call(self, chain.functions[i], caller_of(self, &chain, i),
			      point->allocations))
			return false;
		if (!function->folded)
			break;
	}
	return true;
}

static bool tally(struct finder *self)
{
	const struct model *model = self->source->model;

	map_clear(&self->by_pair);
	vec_clear(&self->pairs);
	for (u64 i = 0; i < self->functions.count; i++) {
		struct function *one = &self->functions.data[i];

		one->around = false;
		one->through = one->fold.callers = 0;
		one->own = one->fold.points = one->fold.allocations = one->fold.bytes =
			one->fold.max_bytes = 0;
	}
	for (u64 i = 0; i < model->points.count; i++)
		if (!tally_point(self, &model->points.data[i]))
			return false;
	for (u64 i = 0; i < self->pairs.count; i++) {
		const struct pair *pair = &self->pairs.data[i];
		struct function *function = &self->functions.data[pair->function];

		function->fold.callers++;
		function->through += pair->allocations >= self->functions.data[pair->caller].own;
	}
	return true;
}

/* ---- the rule ---- */

static bool has_sizes(const struct fold *fold)
{
	return fold->max_bytes / FORM_SIZES >= fold->min_bytes;
}

static bool is_wrapper(const struct function *self)
{
	const struct fold *fold = &self->fold;

	if (fold->max_bytes == fold->min_bytes || !*fold->module)
		return false;
	if (self->allocates)
		return fold->callers >= NAME_CALLERS;
	return fold->callers >= (*fold->function ? FORM_CALLERS : CALL_CALLERS) &&
	       has_sizes(fold) && self->through * THROUGH_OF >= fold->callers * THROUGH;
}

/* A call without a name beside a wrapper without a name: git's do_xmalloc has three callers, and
 * its xmalloc, the next function, dozens. */
static bool is_beside_wrapper(const struct finder *self, const struct function *one)
{
	if (!one->fold.address || one->around || !one->fold.callers || !has_sizes(&one->fold))
		return false;
	for (u64 i = 0; i < self->functions.count; i++) {
		const struct function *other = &self->functions.data[i];
		u64 a = one->fold.address, b = other->fold.address;

		if (other->folded && other->fold.why == FOLD_FORM && b &&
		    (a < b ? b - a : a - b) < NEAR_BYTES &&
		    strcmp(other->fold.module, one->fold.module) == 0)
			return true;
	}
	return false;
}

static bool judge(struct finder *self)
{
	bool more = false;

	for (u64 i = 0; i < self->functions.count; i++) {
		struct function *one = &self->functions.data[i];

		if (one->folded || !is_wrapper(one))
			continue;
		one->fold.why = one->allocates ? FOLD_NAME : FOLD_FORM;
		more = one->folded = true;
	}
	for (u64 i = 0; i < self->functions.count; i++) {
		struct function *one = &self->functions.data[i];

		if (one->folded || !is_beside_wrapper(self, one))
			continue;
		one->fold.why = FOLD_NEAR;
		more = one->folded = true;
	}
	return more;
}

static int most_first(const void *a, const void *b)
{
	const struct fold *x = a, *y = b;

	return falling(x->allocations, y->allocations)
		       ?: rising(x->address, y->address) ?: strcmp(x->function, y->function);
}

/* A function that nobody called has no caller to be a part of. */
static bool keep(const struct finder *self, struct folds *folds)
{
	for (u64 i = 0; i < self->functions.count; i++) {
		const struct fold *fold = &self->functions.data[i].fold;

		if (self->functions.data[i].folded && fold->callers &&
		    (!vec_push(&folds->rows, *fold) ||
		     !map_put(&folds->functions, key_of_fold(fold), 1)))
			return false;
	}
	vec_sort(&folds->rows, most_first);
	return true;
}

int folds_find(struct folds *self, const struct stack_source *source, const struct wrappers *asked,
	       struct err *err)
{
	struct stack_source whole = *source;
	struct finder finder = {.source = &whole, .asked = asked};
	bool done;

	self->usual = !asked;
	if (!source->symbols || !source->symbols->count)
		return 0;         /* nothing has a name */
	if (whole.model->whole) { /* a part has its places where the whole has them */
		whole.model = whole.model->whole;
		whole.found = NULL;
	}
	finder.frames = calloc(whole.model->contexts.frames.count + 1, sizeof *finder.frames);
	done = finder.frames && vec_push(&finder.names, 0) && tally(&finder);
	for (u32 i = 0; i < ROUNDS && done && judge(&finder); i++)
		done = tally(&finder);
	done = done && keep(&finder, self);
	vec_release(&finder.functions);
	vec_release(&finder.pairs);
	vec_release(&finder.names);
	map_release(&finder.by_name);
	map_release(&finder.by_pair);
	free(finder.frames);
	return done ? 0 : err_memory_for(err, "wrappers");
}

void folds_release(struct folds *self)
{
	vec_release(&self->rows);
	map_release(&self->functions);
}

int folds_include(struct folds *self, const struct folds *other, struct err *err)
{
	for (u64 i = 0; other && i < other->rows.count; i++) {
		const struct fold *fold = &other->rows.data[i];

		if (folds_hold(self, fold->module, fold->function, fold->address))
			continue;
		if (!vec_push(&self->rows, *fold) ||
		    !map_put(&self->functions, key_of_fold(fold), 1))
			return err_memory_for(err, "wrappers");
	}
	return 0;
}

/* ---- as a list ---- */

static const struct result_column columns[] = {
	COLUMN("function", "function", VALUE_TEXT, "shown as part of its callers"),
	COLUMN("module", "module", VALUE_PATH, "file that contains it"),
	COLUMN("why", "why", VALUE_TEXT,
	       "asked: named with --wrapper; name: a known name; callers: many functions allocate "
	       "through it, in many sizes; beside: it has no name and is next to such a wrapper"),
	COLUMN("callers", "callers", VALUE_COUNT, "functions that call it to allocate"),
	COLUMN("points", "points", VALUE_COUNT, "allocation points through it"),
	COLUMN("allocations", "allocations", VALUE_COUNT, "allocations through it"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "bytes requested through it"),
	COLUMN("min_mean_bytes", "smallest", VALUE_BYTES, "smallest mean size of its points"),
	COLUMN("max_mean_bytes", "largest", VALUE_BYTES, "largest mean size of its points"),
};

static void put_name(struct strbuf *out, const struct fold *fold)
{
	if (*fold->function)
		strbuf_add(out, fold->function);
	else
		strbuf_addf(out, "%s+0x%" PRIx64, path_file(fold->module), fold->address);
}

static struct result *list(const struct folds *self, const struct model *model)
{
	static const char *const whys[] = {[FOLD_ASKED] = "asked",
					   [FOLD_NAME] = "name",
					   [FOLD_FORM] = "callers",
					   [FOLD_NEAR] = "beside"};
	struct result *table =
		result_table("folded", "Wrappers shown as part of their callers", columns);

	for (u64 i = 0; table && i < self->rows.count; i++) {
		const struct fold *fold = &self->rows.data[i];
		struct strbuf name = {0};

		put_name(&name, fold);
		result_row(table, value_text(result_take(table, &name)),
			   result_text(table, fold->module), value_text(whys[fold->why]),
			   value_number(fold->callers), value_number(fold->points),
			   value_units(model, fold->allocations), value_number(fold->bytes),
			   value_number(fold->min_bytes), value_number(fold->max_bytes));
	}
	if (table)
		table->hidden_in_text = true;
	return table;
}

static void put_why(struct strbuf *out, const struct fold *fold)
{
	put_name(out, fold);
	if (fold->why == FOLD_ASKED)
		strbuf_add(out, " (named by --wrapper)");
	else if (fold->why == FOLD_NAME)
		strbuf_add(out, " (known name)");
	else if (fold->why == FOLD_NEAR)
		strbuf_add(out, " (next to another)");
	else
		strbuf_addf(out, " (%u %s allocate %s to %s through it)", fold->callers,
			    *fold->function ? "functions" : "places",
			    units_bytes(fold->min_bytes).text, units_bytes(fold->max_bytes).text);
}

void folds_add(const struct folds *self, const struct model *model, struct result *result)
{
	struct strbuf text = {0};
	u64 count = self ? self->rows.count : 0, shown = count > SHOWN ? SHOWN : count;

	if (!count)
		return;
	for (u64 i = 0; i < shown; i++) {
		strbuf_add(&text, i == 0 ? "" : i + 1 == count ? " and " : ", ");
		put_why(&text, &self->rows.data[i]);
	}
	if (count > shown)
		strbuf_addf(&text, " and %s more", units_count(count - shown).text);
	result_add_caveat(result, "shown as part of %s: %s; --no-fold shows %s",
			  count == 1 ? "its callers" : "their callers", strbuf_text(&text),
			  count == 1 ? "it" : "them");
	strbuf_release(&text);
	result_add_part(result, list(self, model));
}
