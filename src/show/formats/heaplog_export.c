/* SPDX-License-Identifier: MIT
 * A trace → HeapLog dumps.
 * Host. Works on the loaded model: freed entries in the order of their ends, live ones in that of
 * their births. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/text.h"
#include "show/formats/export.h"
#include "show/formats/heaplog.h"
#include "study/analysis/types/list.h"
#include "study/model/each.h"

struct dumping {
	const struct export_job *job;
	const struct heaplog_options *how;
	const struct model *model;
	FILE *out;
	VEC(u64) freed;   /* chunks */
	VEC(u8) nodes;    /* by context: named by an entry, or by one below it */
	struct map types; /* identity of a type that an entry has → name as a number */
	struct map told;  /* hash of a name that the trace has → identity */
};

/* ---- entries ---- */

static u64 tick_of(const struct dumping *self, u64 ticks)
{
	return tick_clock_ns(&self->model->clock, ticks) / self->how->tick_ns;
}

/* Names that the trace does not have get an identity of their own, the same in each dump, that no
 * address has. */
static u64 identity_of(const struct dumping *self, const char *name)
{
	u64 hash = hash_text(HASH_START, name), *told = map_find(&self->told, hash);

	return told ? *told : HEAPLOG_FOUND | (hash & (HEAPLOG_FOUND - 1));
}

/* Types that were found out, where none was recorded with the chunk. Guesses are left out, for a
 * dump has no place to say that it guesses. */
static bool find_out(struct dumping *self, u64 chunk, struct type_answer *answer)
{
	if (!self->job->types)
		return false;
	*answer = type_of_chunk(self->job->types, chunk);
	return answer->confidence > TYPE_GUESS && answer->origin != ORIGIN_DECLARED &&
	       (answer->origin != ORIGIN_VTABLE || answer->sampled);
}

/* The chunk's type, of identity 0 if it is unknown. False if there is no memory. */
static bool find_type(struct dumping *self, u64 chunk, struct chunk_type *type)
{
	struct type_answer found = {0};
	const char *name = NULL;

	if (find_out(self, chunk, &found)) {
		name = found.name;
		*type = (struct chunk_type){.identity = identity_of(self, name),
					    .count =
						    type_elements(self->job->types, &found, chunk)};
	} else if (model_chunk_type(self->model, chunk, type)) {
		name = self->model->types.data[type->type];
	}
	return !name || map_put(&self->types, type->identity, (u64)(uintptr_t)name);
}

static int put_entry(struct dumping *self, FILE *out, u64 chunk, struct err *err)
{
	const struct chunk_page *page = chunk_at(&self->model->chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE), context = page->alloc_context[k];
	u64 tick = tick_of(self, page->alloc_ticks[k]), freed_tick = 0;
	struct chunk_type type;

	if (page->end[k] == CHUNK_FREED) {
		freed_tick = tick_of(self, page->free_ticks[k]);
		if (freed_tick < tick)
			freed_tick = tick;
		freed_tick += !freed_tick; /* 0 would be: not freed */
	}
	if (!find_type(self, chunk, &type))
		return err_memory(err);
	if (context < self->nodes.count)
		self->nodes.data[context] = 1;
	fprintf(out,
		"%08" PRIX64 ", %" PRIu64 ", %" PRIu64 ", %08" PRIX64 ", %" PRIu64 ", %" PRIu64
		", %08" PRIX32 "\n",
		page->address[k], page->size[k], type.count, type.identity & ~HEAPLOG_IDENTITY,
		tick, freed_tick, context);
	return ferror(out) ? err_set(err, ERR_SYSTEM, "cannot write the dump") : 0;
}

static void put_header(FILE *out)
{
	fputs("HeapLog|version=4|address|size|count|type_id|tick|freed_tick|callgraph_node\n", out);
}

/* ---- which entries ---- */

struct ending {
	u64 ticks, chunk;
};

static int compare_endings(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;

	return rising(x->ticks, y->ticks) ?: rising(x->chunk, y->chunk);
}

static int find_freed(struct dumping *self, struct err *err)
{
	VEC(struct ending) endings = {0};
	int status = 0;

	EACH_CHUNK (chunk, self->model)
		if (chunk.page->end[chunk.at] == CHUNK_FREED &&
		    !vec_push(&endings,
			      (struct ending){chunk.page->free_ticks[chunk.at], chunk.number}))
			status = err_memory(err);
	vec_sort(&endings, compare_endings);
	for (u64 i = 0; i < endings.count && status == 0; i++)
		if (!vec_push(&self->freed, endings.data[i].chunk))
			status = err_memory(err);
	vec_release(&endings);
	return status;
}

static int put_numbered(struct dumping *self, u64 first, u64 count, u64 number, struct err *err)
{
	struct strbuf path = {0};
	int status = 0;
	FILE *out;

	strbuf_addf(&path, "%s.%04" PRIu64, self->job->output, number);
	out = path.failed ? NULL : fopen(strbuf_text(&path), "we");
	if (!out) {
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", strbuf_text(&path),
				 strerror(errno));
	} else {
		put_header(out);
		for (u64 i = first; i < first + count && status == 0; i++)
			status = put_entry(self, out, self->freed.data[i], err);
		if (fclose(out) != 0 && status == 0)
			status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", strbuf_text(&path),
					 strerror(errno));
	}
	strbuf_release(&path);
	return status;
}

/* Full sets go to files of their own; the rest stays. */
static int put_freed(struct dumping *self, struct err *err)
{
	u64 at = 0, every = self->how->every;
	int status = 0;

	for (u64 number = 1; every && self->freed.count - at >= every && status == 0; number++) {
		if (number > self->how->sets_written)
			status = put_numbered(self, at, every, number, err);
		at += every;
	}
	if (self->how->entries == HEAPLOG_SETS)
		return status;
	put_header(self->out);
	for (; at < self->freed.count && status == 0; at++)
		status = put_entry(self, self->out, self->freed.data[at], err);
	return status;
}

static int put_live(struct dumping *self, struct err *err)
{
	int status = 0;

	for (u64 chunk = 0; chunk < self->model->chunks.count && status == 0; chunk++) {
		enum chunk_end end = chunk_end(&self->model->chunks, chunk);

		if (end != CHUNK_ABSENT && end != CHUNK_FREED)
			status = put_entry(self, self->out, chunk, err);
	}
	return status;
}

/* ---- the further tables ---- */

static const char *function_of(const struct dumping *self, u32 context,
			       const struct context_node *node)
{
	struct modmap *modules = (struct modmap *)&self->model->contexts.modules;
	const struct modmap_module *module =
		modmap_find(modules, node->pc - 1, modmap_generation(modules, context));
	const struct symbol_entry *entry =
		module ? symbol_table_find(self->job->stacks.symbols, self->model->image.number,
					   module->id, node->pc - 1 - module->base)
		       : NULL;

	return entry && entry->frame_count ? entry->frames[0].function : "";
}

static void put_name(FILE *out, const char *name)
{
	text_put(out, name, "", '?');
	fputc('\n', out);
}

/* Nodes of entries, and those that they hang below. Parents were told before: their numbers are
 * smaller or not, so each is followed to its root. */
static void mark_ancestors(struct dumping *self)
{
	const struct context_table *contexts = &self->model->contexts;

	for (u64 i = 1; i < self->nodes.count; i++) {
		u32 at = (u32)i;

		if (self->nodes.data[i] != 1)
			continue;
		while (at && at < contexts->nodes.count && self->nodes.data[at] != 2) {
			self->nodes.data[at] = 2;
			at = contexts->nodes.data[at].parent;
		}
	}
}

/* Roots of generations are nodes of ours, and no frames. */
static bool is_frame(const struct context_table *contexts, u32 id)
{
	const struct context_node *node = &contexts->nodes.data[id];
	struct stream_context context = {id, node->parent, node->pc, node->flags};

	return node->told && context_is_frame(&context);
}

static void put_nodes(struct dumping *self)
{
	const struct context_table *contexts = &self->model->contexts;

	mark_ancestors(self);
	fputs("CallGraph|version=4|node|parent|address|function\n", self->out);
	for (u64 i = 1; i < self->nodes.count; i++) {
		const struct context_node *node = &contexts->nodes.data[i];

		if (!self->nodes.data[i] || !is_frame(contexts, (u32)i))
			continue;
		fprintf(self->out, "%08" PRIX64 ", %08" PRIX32 ", %08" PRIX64 ", ", i,
			node->parent < self->nodes.count && is_frame(contexts, node->parent)
				? node->parent
				: 0,
			node->pc & ~HEAPLOG_CODE);
		put_name(self->out, function_of(self, (u32)i, node));
	}
}

static int compare_identities(const void *a, const void *b)
{
	return rising(*(const u64 *)a, *(const u64 *)b);
}

static int put_types(struct dumping *self, struct err *err)
{
	VEC(u64) identities = {0};
	bool good = true;

	fputs("Types|version=4|type_id|name\n", self->out);
	for (u64 at = 0, identity, name; good && map_next(&self->types, &at, &identity, &name);)
		good = vec_push(&identities, identity);
	vec_sort(&identities, compare_identities);
	for (u64 i = 0; good && i < identities.count; i++) {
		fprintf(self->out, "%08" PRIX64 ", ", identities.data[i] & ~HEAPLOG_IDENTITY);
		put_name(self->out,
			 (const char *)(uintptr_t)*map_find(&self->types, identities.data[i]));
	}
	vec_release(&identities);
	return good ? 0 : err_memory(err);
}

static int find_told(struct dumping *self, struct err *err)
{
	for (u64 i = 0; i < self->model->type_table.identities.count; i++) {
		const struct type_identity *told = &self->model->type_table.identities.data[i];

		if (told->type &&
		    !map_put(&self->told,
			     hash_text(HASH_START, self->model->types.data[told->type - 1]),
			     told->identity))
			return err_memory(err);
	}
	return 0;
}

int heaplog_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct dumping self = {.job = job,
			       .how = job->heaplog,
			       .model = job->stacks.model,
			       .out = out};
	int status = 0;

	if (!vec_extend(&self.nodes, self.model->contexts.nodes.count))
		status = err_memory(err);
	if (status == 0)
		status = find_told(&self, err);
	if (status == 0 && self.how->entries != HEAPLOG_LIVE)
		status = find_freed(&self, err);
	if (status == 0)
		status = put_freed(&self, err);
	if (status == 0 && self.how->entries != HEAPLOG_FREED &&
	    self.how->entries != HEAPLOG_SETS) {
		status = put_live(&self, err);
		put_nodes(&self);
		if (status == 0)
			status = put_types(&self, err);
	}
	if (status == 0 && out && ferror(out))
		status = err_set(err, ERR_SYSTEM, "cannot write the dump");
	vec_release(&self.freed);
	vec_release(&self.nodes);
	map_release(&self.types);
	map_release(&self.told);
	return status;
}
