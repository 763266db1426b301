/* SPDX-License-Identifier: MIT
 * One pass over the chunks in the order of their allocation.
 * Host. Memory is bounded by the number of points: sums, the open group of each, and at most
 * RUNS_OPEN growing runs of each. */
#include "study/analysis/memoro/pass.h"

#include <string.h>

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
static struct seen look(const struct pass *pass, const struct chunk_page *page, u32 k, u64 chunk)
{
	struct seen self = {.page = page, .k = k, .size = page->size[k]};
	u8 how = page->end[k];
	bool ended = how == CHUNK_FREED || how == CHUNK_IMPLIED;

	model_weigh(pass->model, self.size, &self.units, &self.bytes);
	self.weight = (double)self.units / (double)(1ull << pass->model->count_shift);
	self.born = page->alloc_ticks[k];
	self.end = ended ? page->free_ticks[k] : pass->model->last_ticks;
	self.timed = ended || !pass->model->aggregated;
	self.life = self.end > self.born ? self.end - self.born : 0;
	self.freed = how == CHUNK_FREED;
	self.measured =
		pass->model->has_access && model_chunk_access(pass->model, chunk, &self.access);
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

/* ---- lifetimes ---- */

static double group_score(const struct open_group *group)
{
	double span = (double)(group->end_ticks - group->first_ticks);

	return span > 0 ? group->life_sum / group->chunks / span : 1;
}

static void group_close(struct behaviour *self, struct open_group *group)
{
	if (group->chunks <= 0)
		return;
	self->group_scores += group_score(group);
	self->groups++;
	*group = (struct open_group){0};
}

/* Whether the group ends before the chunk. */
static bool group_ends(const struct pass *pass, const struct open_group *group,
		       const struct seen *chunk)
{
	return group->chunks > 0 && chunk->born > group->newest_ticks &&
	       chunk->born - group->newest_ticks > pass->gap_ticks;
}

/* Chunks come in the order of their numbers; one that was published late may carry an earlier
 * time, and belongs to the group all the same. */
static void group_take(struct open_group *group, const struct seen *chunk)
{
	u64 end = chunk->born + chunk->life;

	if (group->chunks <= 0 || chunk->born < group->first_ticks)
		group->first_ticks = chunk->born;
	if (chunk->born > group->newest_ticks)
		group->newest_ticks = chunk->born;
	if (end > group->end_ticks)
		group->end_ticks = end;
	group->life_sum += (double)chunk->life * chunk->weight;
	group->chunks += chunk->weight;
}

static void group_add(const struct pass *pass, struct behaviour *self, struct open_group *group,
		      const struct seen *chunk)
{
	if (group_ends(pass, group, chunk))
		group_close(self, group);
	group_take(group, chunk);
}

static bool is_worse(const struct lifetime_group *a, const struct lifetime_group *b)
{
	return a->score != b->score ? a->score < b->score : a->chunks > b->chunks;
}

static void worst_take(struct worst_groups *self, struct open_group *group)
{
	struct lifetime_group one = {group->first_ticks, group->end_ticks, group->chunks, 1};
	u32 at;

	if (group->chunks <= 0)
		return;
	one.score = group_score(group);
	self->groups++;
	*group = (struct open_group){0};
	if (self->count == WORST_GROUPS && !is_worse(&one, &self->rows[WORST_GROUPS - 1]))
		return;
	self->count += self->count < WORST_GROUPS;
	for (at = self->count - 1; at && is_worse(&one, &self->rows[at - 1]); at--)
		self->rows[at] = self->rows[at - 1];
	self->rows[at] = one;
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
	if (chunk->life <= pass->short_ticks) {
		hit(self, INFERENCE_SHORT, chunk, 0);
		self->short_ticks += (double)chunk->life * chunk->weight;
	}
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

static int chunk_add(struct pass *pass, const struct seen *chunk, struct err *err)
{
	u32 point = model_point_of(pass->model, chunk->page->alloc_context[chunk->k]).index;
	struct behaviour *self = &pass->table->points[point];
	struct point_state *state = &pass->states[point];

	tally_add(&self->all, chunk, chunk->timed ? (double)chunk->life : 0);
	if (!state->seen++ || chunk->size < self->min_size)
		self->min_size = chunk->size;
	if (chunk->size > self->max_size)
		self->max_size = chunk->size;
	if (chunk->timed)
		group_add(pass, self, &state->group, chunk);
	add_times(pass, self, chunk);
	if (chunk->measured)
		add_accesses(pass, self, chunk);
	if (!state->runs) {
		state->runs = arena_new_array(&pass->arena, struct open_run, RUNS_OPEN);
		if (!state->runs)
			return err_memory_for(err, "the behaviour of points");
	}
	growing_add(pass, self, state, chunk);
	return 0;
}

static int add_all(struct pass *pass, struct err *err)
{
	EACH_CHUNK (chunk, pass->model) {
		struct seen seen = look(pass, chunk.page, chunk.at, chunk.number);

		if (chunk_add(pass, &seen, err) < 0)
			return ERR_MEMORY;
	}
	for (u64 i = 0; i < pass->table->count; i++) {
		group_close(&pass->table->points[i], &pass->states[i].group);
		growing_close(pass, &pass->table->points[i], pass->states[i].runs);
	}
	return 0;
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

/* A limit that is too large is none. */
static u64 whole(double number) { return number < 0x1p63 ? (u64)number : UINT64_MAX; }

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

static u64 gap_ticks(const struct model *model, const struct thresholds *limits)
{
	return whole(limits->group_gap * (double)(model->last_ticks - model->image.start_ticks));
}

void behaviour_worst_groups(const struct model *model, const struct thresholds *limits,
			    const u32 *chunks, u64 count, struct worst_groups *worst)
{
	struct pass pass = {.model = model,
			    .limits = limits,
			    .gap_ticks = gap_ticks(model, limits)};
	struct open_group group = {0};

	*worst = (struct worst_groups){0};
	for (u64 i = 0; i < count; i++) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunks[i]);
		u32 k = chunks[i] % CHUNK_PAGE;
		struct seen chunk;

		if (!page || page->end[k] == CHUNK_ABSENT)
			continue;
		chunk = look(&pass, page, k, chunks[i]);
		if (!chunk.timed)
			continue;
		if (group_ends(&pass, &group, &chunk))
			worst_take(worst, &group);
		group_take(&group, &chunk);
	}
	worst_take(worst, &group);
}

int behaviour_begin(const struct model *model, const struct thresholds *limits,
		    struct behaviour_table *self, struct err *err)
{
	struct pass pass = {.model = model, .limits = limits, .table = self};
	double ns_per_tick = tick_clock_span_ns(&model->clock, 1);
	int status;

	self->limits = *limits;
	pass.gap_ticks = gap_ticks(model, limits);
	pass.short_ticks =
		ns_per_tick > 0 ? whole((double)limits->short_us * 1000 / ns_per_tick) : 0;
	pass.growing_steps = limits->growing_steps ? limits->growing_steps : 1;
	self->count = model->points.count;
	self->points = calloc(self->count + 1, sizeof *self->points);
	pass.states = calloc(self->count + 1, sizeof *pass.states);
	status = self->points && pass.states ? add_all(&pass, err)
					     : err_memory_for(err, "the behaviour of points");
	free(pass.states);
	arena_release(&pass.arena);
	return status;
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
