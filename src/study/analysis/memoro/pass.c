/* SPDX-License-Identifier: MIT
 * What chunks did, added up in the order of time.
 * Host. Memory is bounded by the number of points: sums, at most RUNS_OPEN growing runs of each,
 * and its groups, of which there are some 1,000 at most (1 / group_gap). */
#include "study/analysis/memoro/pass.h"

#include <string.h>

#include "host/base/search.h"
#include "study/analysis/memoro/inferences.h"
#include "study/analysis/places/plain.h"
#include "study/model/each.h"

/* ---- one chunk ---- */

static u64 accessed_bytes(const struct chunk_access *access, u64 size)
{
	u64 bytes = access->covered != UINT64_MAX ? access->covered
		    : access->high > access->low  ? access->high - access->low
						  : 0;

	return bytes < size ? bytes : size;
}

/* Chunks that live on end with the run; once only sums were told nobody knows. */
struct seen pass_see(const struct model *model, const struct chunk_page *page, u32 k, u64 chunk)
{
	struct seen self = {.page = page, .k = k, .number = chunk, .size = page->size[k]};
	u8 how = page->end[k];
	bool ended = how == CHUNK_FREED || how == CHUNK_IMPLIED;

	model_weigh(model, self.size, &self.units, &self.bytes);
	self.weight = (double)self.units / (double)(1ull << model->count_shift);
	self.born = page->alloc_ticks[k];
	self.end = ended ? page->free_ticks[k] : model->last_ticks;
	self.timed = ended || !model->aggregated;
	self.life = self.end > self.born ? self.end - self.born : 0;
	self.freed = how == CHUNK_FREED;
	self.measured = model->has_access && model_chunk_access(model, chunk, &self.access);
	if (self.measured)
		self.used = accessed_bytes(&self.access, self.size);
	return self;
}

static void tally_add(struct tally *tally, const struct seen *chunk, double ticks)
{
	tally->chunks += chunk->units;
	tally->bytes += chunk->bytes;
	tally->byte_ticks += (double)chunk->bytes * ticks;
}

/* ticks: for how long all of its bytes could have been spared. */
static void hit(struct behaviour *self, enum inference inference, const struct seen *chunk,
		double ticks)
{
	tally_add(&self->hits[inference], chunk, ticks);
	if (!chunk->measured)
		return;
	if (chunk->access.flags & ACCESS_ESTIMATED)
		self->estimated |= 1u << inference;
	if (chunk->access.flags & ACCESS_LOWER_BOUND)
		self->lower_bound |= 1u << inference;
}

/* ---- short lives ---- */

static void short_add(struct behaviour *sums, const struct model *model, u64 units, u64 bytes,
		      u64 life)
{
	sums->hits[INFERENCE_SHORT].chunks += units;
	sums->hits[INFERENCE_SHORT].bytes += bytes;
	sums->short_ticks += (double)life * (double)units / (double)(1ull << model->count_shift);
}

/* The rate of the clock is known a while after the start, and exactly at the end: lives near the
 * limit wait until then. Clocks are slewed by 1/2,000 at most. */
static void short_rate(struct pass *self)
{
	/* no clock is outside of these */
	static const double fastest_ns = 0.1, slowest_ns = 1000, precision = 0.001;
	double short_ns = (double)self->limits->short_us * 1000;
	double ns = tick_clock_span_ns(&self->model->clock, 1);
	bool known = tick_clock_known(&self->model->clock) && ns > 0;

	self->rated = self->model->clock.pairs.count;
	self->short_ticks =
		pass_limit(known ? short_ns / ns * (1 - precision) : short_ns / slowest_ns);
	self->long_ticks =
		pass_limit(known ? short_ns / ns * (1 + precision) : short_ns / fastest_ns);
}

/* Lives that are near the limit no longer. */
static void short_settle(struct pass *self)
{
	u64 count = 0;

	for (u64 i = 0; i < self->unsure.count; i++) {
		const struct unsure_life *life = &self->unsure.data[i];

		if (life->life <= self->short_ticks)
			short_add(&self->table->points[life->point], self->model, life->units,
				  life->bytes, life->life);
		else if (life->life < self->long_ticks)
			self->unsure.data[count++] = *life;
	}
	self->unsure.count = count;
}

static int short_ended(struct pass *self, u32 point, const struct seen *chunk, struct err *err)
{
	enum { UNSURE_MAX = 1 << 22 };
	struct unsure_life life = {point, chunk->life, chunk->units, chunk->bytes};

	if (unlikely(self->rated != self->model->clock.pairs.count)) {
		short_rate(self);
		short_settle(self);
	}
	if (chunk->life >= self->long_ticks)
		return 0;
	if (chunk->life > self->short_ticks) {
		if (self->unsure.count < UNSURE_MAX && vec_push(&self->unsure, life))
			return 0;
		return err_memory_for(err, "lives of unknown length");
	}
	short_add(&self->table->points[point], self->model, chunk->units, chunk->bytes,
		  chunk->life);
	return 0;
}

/* The end is known. */
static void short_know(struct pass *self)
{
	double ns = tick_clock_span_ns(&self->model->clock, 1);

	self->short_ticks = ns > 0 ? pass_limit((double)self->limits->short_us * 1000 / ns) : 0;
	self->long_ticks = self->short_ticks + (self->short_ticks < UINT64_MAX);
	short_settle(self);
}

static void add_times(const struct pass *pass, struct behaviour *self, const struct seen *chunk)
{
	const struct chunk_page *page = chunk->page;

	if (page->end[chunk->k] == CHUNK_KEPT || page->end[chunk->k] == CHUNK_LIVE)
		hit(self, INFERENCE_KEPT, chunk, (double)chunk->life);
	if (chunk->size == 0)
		hit(self, INFERENCE_ZERO_SIZE, chunk, 0);
	if (page->end[chunk->k] != CHUNK_FREED && page->end[chunk->k] != CHUNK_IMPLIED)
		return;
	if (page->others[chunk->k] <= pass->limits->temporary_slack)
		hit(self, INFERENCE_TEMPORARY, chunk, 0);
	if (!chunk->freed)
		return; /* nobody knows who freed it */
	self->freed_chunks += chunk->units;
	if (page->free_thread[chunk->k] != page->alloc_thread[chunk->k])
		hit(self, INFERENCE_FOREIGN_FREE, chunk, 0);
}

/* ---- accesses ---- */

static double within(double part, double whole)
{
	return part <= 0 ? 0 : part > whole ? whole : part;
}

/* How long it lay idle before its first and after its last access. */
static void add_idle(const struct pass *pass, struct behaviour *self, const struct seen *chunk)
{
	double life = (double)chunk->life, limit = pass->limits->idle * life;
	double before = within((double)chunk->access.first_ticks - (double)chunk->born, life);
	double after = within((double)chunk->born + life - (double)chunk->access.last_ticks, life);

	if (before > limit) {
		hit(self, INFERENCE_EARLY, chunk, before);
		self->early_ticks += before * chunk->weight;
	}
	if (chunk->access.flags & ACCESS_LATER)
		return;
	self->useful_sum += chunk->weight * within(life - before - after, life) / life;
	if (after > limit) {
		hit(self, INFERENCE_LATE, chunk, after);
		self->late_ticks += after * chunk->weight;
	}
}

static void add_coverage(const struct pass *pass, struct behaviour *self, const struct seen *chunk)
{
	double unused;

	if ((double)chunk->used >= pass->limits->coverage * (double)chunk->size)
		return;
	unused = (double)(chunk->size - chunk->used) / (double)chunk->size;
	hit(self, INFERENCE_COVERAGE, chunk, unused * (double)chunk->life);
	self->covered_bytes += (double)chunk->used * chunk->weight;
}

static void add_accesses(const struct pass *pass, struct behaviour *self, const struct seen *chunk)
{
	const struct chunk_access *access = &chunk->access;
	bool timed = chunk->timed && chunk->life > 0;

	tally_add(&self->measured, chunk, (double)chunk->life);
	self->reads += access->reads;
	self->writes += access->writes;
	self->is_estimated |= (access->flags & ACCESS_ESTIMATED) != 0;
	self->is_lower_bound |= (access->flags & ACCESS_LOWER_BOUND) != 0;
	if (timed && !(access->flags & ACCESS_LATER))
		self->useful_chunks += chunk->weight;
	if (!access->reads && !access->writes) {
		if (chunk->size)
			hit(self, INFERENCE_UNUSED, chunk, (double)chunk->life);
		return;
	}
	tally_add(&self->accessed, chunk, (double)chunk->life);
	if (access->flags & ACCESS_UNSIDED)
		self->unsided_bytes += (double)chunk->bytes;
	else if (!access->reads)
		hit(self, INFERENCE_WRITE_ONLY, chunk, (double)chunk->life);
	else if (!access->writes)
		hit(self, INFERENCE_READ_ONLY, chunk, (double)chunk->life);
	else
		self->used_bytes += (double)chunk->used * chunk->weight;
	if (access->flags & ACCESS_SHARED)
		hit(self, INFERENCE_SHARED, chunk, 0);
	if (timed)
		add_idle(pass, self, chunk);
	add_coverage(pass, self, chunk);
}

/* ---- the pass ---- */

static int points_extend(struct pass *self, u64 count, struct err *err)
{
	u64 room = self->room ? 2 * self->room : 64;
	struct behaviour *points;
	struct point_state *states;

	if (count >= self->room) {
		while (room <= count)
			room *= 2;
		points = realloc(self->table->points, room * sizeof *points);
		self->table->points = points ? points : self->table->points;
		states = points ? realloc(self->states, room * sizeof *states) : NULL;
		if (!states)
			return err_memory_for(err, "the behaviour of points");
		self->states = states;
		memset(&points[self->room], 0, (room - self->room) * sizeof *points);
		memset(&states[self->room], 0, (room - self->room) * sizeof *states);
		self->room = room;
	}
	self->table->count = count;
	return 0;
}

static int pass_init(struct pass *self, const struct model *model, const struct thresholds *limits,
		     struct behaviour_table *table, struct err *err)
{
	*self = (struct pass){.model = model, .limits = limits, .table = table};
	self->growing_steps = limits->growing_steps ? limits->growing_steps : 1;
	table->limits = *limits;
	short_rate(self);
	return points_extend(self, model->points.count, err);
}

static void pass_release(struct pass *self)
{
	for (u64 i = 0; i < self->table->count; i++)
		vec_release(&self->states[i].groups);
	free(self->states);
	vec_release(&self->unsure);
	arena_release(&self->arena);
}

int behaviour_born(void *data, const struct chunk_page *page, u32 k, u64 number, struct err *err)
{
	struct pass *self = data;
	u32 point = model_point_of(self->model, page->alloc_context[k]).index;
	struct seen chunk = {.page = page,
			     .k = k,
			     .number = number,
			     .size = page->size[k],
			     .born = page->alloc_ticks[k]};
	struct behaviour *sums;
	struct point_state *state;

	if (unlikely(point >= self->table->count) &&
	    points_extend(self, self->model->points.count, err) < 0)
		return ERR_MEMORY;
	sums = &self->table->points[point];
	state = &self->states[point];
	model_weigh(self->model, chunk.size, &chunk.units, &chunk.bytes);
	if (!state->seen++ || chunk.size < sums->min_size)
		sums->min_size = chunk.size;
	if (chunk.size > sums->max_size)
		sums->max_size = chunk.size;
	if (!state->runs)
		state->runs = arena_new(&self->arena, struct open_runs);
	if (!state->runs ||
	    !lifetimes_born(state, chunk.born,
			    self->gap_ticks ? self->gap_ticks
					    : lifetimes_gap(self->model, self->limits, chunk.born)))
		return err_memory_for(err, "the behaviour of points");
	growing_born(state->runs, self, sums, &chunk);
	return 0;
}

int behaviour_ended(void *data, const struct chunk_page *page, u32 k, u64 number, struct err *err)
{
	struct pass *self = data;
	u32 point = model_point_of(self->model, page->alloc_context[k]).index;
	struct seen chunk = pass_see(self->model, page, k, number);
	struct behaviour *sums = &self->table->points[point];
	struct point_state *state = &self->states[point];

	tally_add(&sums->all, &chunk, chunk.timed ? (double)chunk.life : 0);
	if (chunk.timed)
		lifetimes_ended(state, &chunk);
	add_times(self, sums, &chunk);
	if (chunk.measured)
		add_accesses(self, sums, &chunk);
	growing_ended(state->runs, self, sums, &chunk);
	return page->end[k] == CHUNK_FREED || page->end[k] == CHUNK_IMPLIED
		       ? short_ended(self, point, &chunk, err)
		       : 0;
}

static void pass_finish(struct pass *self)
{
	u64 gap = lifetimes_gap(self->model, self->limits, self->model->last_ticks);

	short_know(self);
	for (u64 i = 0; i < self->table->count; i++)
		lifetimes_finish(&self->states[i], &self->table->points[i], gap);
}

/* ---- over the columns ---- */

/* Chunks that live, by the time of their end: those that end first are first. */
struct ending {
	u64 ticks, chunk;
};

struct endings {
	VEC(struct ending) heap;
};

static bool is_sooner(const struct ending *a, const struct ending *b)
{
	return a->ticks < b->ticks || (a->ticks == b->ticks && a->chunk < b->chunk);
}

static bool endings_put(struct endings *self, struct ending one)
{
	struct ending *heap;
	u64 at = self->heap.count;

	if (!vec_push(&self->heap, one))
		return false;
	heap = self->heap.data;
	for (; at && is_sooner(&one, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = one;
	return true;
}

static struct ending endings_take(struct endings *self)
{
	struct ending *heap = self->heap.data, first = heap[0], last = heap[--self->heap.count];
	u64 at = 0, count = self->heap.count;

	for (u64 child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && is_sooner(&heap[child + 1], &heap[child]);
		if (!is_sooner(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	if (count)
		heap[at] = last;
	return first;
}

/* A thread that moves a block frees the old one after it has the new one: at one time births are
 * first. */
static int end_until(struct pass *pass, struct endings *endings, u64 born, bool last,
		     struct err *err)
{
	int status = 0;

	while (endings->heap.count && (last || endings->heap.data[0].ticks < born) && status == 0) {
		u64 chunk = endings_take(endings).chunk;

		status = behaviour_ended(pass, chunk_at(&pass->model->chunks, chunk),
					 (u32)(chunk % CHUNK_PAGE), chunk, err);
	}
	return status;
}

static int pass_columns(struct pass *pass, struct err *err)
{
	struct endings endings = {0};
	int status = 0;

	EACH_CHUNK (chunk, pass->model) {
		bool freed = chunk_is_freed(&chunk);
		struct ending one = {freed ? chunk.page->free_ticks[chunk.at] : UINT64_MAX,
				     chunk.number};

		status = end_until(pass, &endings, chunk.page->alloc_ticks[chunk.at], false, err);
		if (status == 0)
			status = behaviour_born(pass, chunk.page, chunk.at, chunk.number, err);
		if (status == 0 && !endings_put(&endings, one))
			status = err_memory_for(err, "the behaviour of points");
		if (status < 0)
			break;
	}
	if (status == 0)
		status = end_until(pass, &endings, 0, true, err);
	vec_release(&endings.heap);
	return status;
}

static void tally_sum(struct tally *sum, const struct tally *add)
{
	sum->chunks += add->chunks;
	sum->bytes += add->bytes;
	sum->byte_ticks += add->byte_ticks;
}

static void sum_up(struct behaviour_table *self)
{
	struct behaviour *whole = &self->whole;

	for (u64 i = 0; i < self->count; i++) {
		const struct behaviour *point = &self->points[i];

		tally_sum(&whole->all, &point->all);
		tally_sum(&whole->measured, &point->measured);
		tally_sum(&whole->accessed, &point->accessed);
		for (u32 k = 0; k < CHUNK_INFERENCES; k++)
			tally_sum(&whole->hits[k], &point->hits[k]);
		whole->estimated |= point->estimated;
		whole->lower_bound |= point->lower_bound;
		whole->is_estimated |= point->is_estimated;
		whole->is_lower_bound |= point->is_lower_bound;
		whole->reads += point->reads;
		whole->writes += point->writes;
		whole->freed_chunks += point->freed_chunks;
	}
}

/* Whatever was recorded of a chunk, such a library may have accessed it as well. The C and C++
 * libraries are not meant: what they access for the program is recorded. */
static void tell_plain_libraries(const struct model *model, struct behaviour_table *self)
{
	self->plain_libraries = plain_library_any(model);
	if (!self->plain_libraries)
		return;
	for (u64 i = 0; i < self->count; i++)
		self->points[i].is_lower_bound |= self->points[i].measured.chunks > 0;
}

static void forget_accesses(struct behaviour *self)
{
	self->measured = self->accessed = (struct tally){0};
	for (u32 i = 0; i < CHUNK_INFERENCES; i++) {
		if (!inference_needs_access((enum inference)i))
			continue;
		self->hits[i] = (struct tally){0};
		self->estimated &= ~(1u << i);
		self->lower_bound &= ~(1u << i);
	}
	self->is_estimated = self->is_lower_bound = false;
	self->reads = self->writes = 0;
	self->used_bytes = self->unsided_bytes = self->useful_sum = self->useful_chunks = 0;
	self->early_ticks = self->late_ticks = self->covered_bytes = 0;
}

/* Points whose chunks are used by code that is not instrumented: that none of it was seen says
 * nothing. */
static void find_unseen(const struct stack_source *source, struct behaviour_table *self)
{
	for (u64 i = 0; i < self->count; i++) {
		self->points[i].unseen =
			plain_allocates(source, source->model->points.data[i].frame);
		if (self->points[i].unseen)
			forget_accesses(&self->points[i]);
	}
}

void behaviour_add_scores(struct behaviour *to, const struct behaviour *from)
{
	to->group_scores += from->group_scores;
	to->groups += from->groups;
	to->used_bytes += from->used_bytes;
	to->unsided_bytes += from->unsided_bytes;
	to->measured.bytes += from->measured.bytes;
	to->useful_sum += from->useful_sum;
	to->useful_chunks += from->useful_chunks;
}

int behaviour_begin(const struct model *model, const struct thresholds *limits,
		    struct behaviour_table *self, struct err *err)
{
	struct pass pass;
	int status = pass_init(&pass, model, limits, self, err);

	pass.gap_ticks = lifetimes_gap(model, limits, model->last_ticks);
	short_know(&pass);
	if (status == 0)
		status = pass_columns(&pass, err);
	if (status == 0)
		pass_finish(&pass);
	pass_release(&pass);
	return status;
}

struct pass *behaviour_follow(const struct model *model, const struct thresholds *limits,
			      struct behaviour_table *self, struct err *err)
{
	struct pass *pass = calloc(1, sizeof *pass);

	if (pass && pass_init(pass, model, limits, self, err) == 0)
		return pass;
	behaviour_forget(pass);
	err_memory_for(err, "the behaviour of points");
	return NULL;
}

void behaviour_followed(struct pass *pass)
{
	pass_finish(pass);
	behaviour_forget(pass);
}

void behaviour_forget(struct pass *pass)
{
	if (pass)
		pass_release(pass);
	free(pass);
}

void behaviour_finish(const struct stack_source *source, struct behaviour_table *self)
{
	if (source->model->has_access)
		find_unseen(source, self);
	tell_plain_libraries(source->model, self);
	sum_up(self);
}

int behaviour_find(const struct stack_source *source, const struct thresholds *limits,
		   struct behaviour_table *self, struct err *err)
{
	int status;

	if (source->behaviour && memcmp(&source->behaviour->limits, limits, sizeof *limits) == 0) {
		*self = *source->behaviour;
		self->borrowed = true;
		return 0;
	}
	status = behaviour_begin(source->model, limits, self, err);
	if (status == 0)
		behaviour_finish(source, self);
	return status;
}

void behaviour_table_release(struct behaviour_table *self)
{
	if (!self->borrowed)
		free(self->points);
	*self = (struct behaviour_table){0};
}
