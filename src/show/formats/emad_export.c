/* SPDX-License-Identifier: MIT
 * A trace with routines → the text form.
 * Host. Steps are written as they are read. A trace that was made of such a text gives it back;
 * in a recording of our own the allocator's functions are no routines, and get numbers here. */
#include <inttypes.h>
#include <string.h>

#include "host/base/text.h"
#include "show/formats/emad.h"
#include "show/formats/export.h"
#include "host/trace/modmap.h"

struct named {
	u64 number;
	const char *name;
};

struct pending { /* what a thread's next exit has to tell */
	u64 address;
	u8 step; /* enum routine_step, or ROUTINE_STEPS for nothing */
};

struct exporting {
	const struct export_job *job;
	FILE *out;
	bool imported;
	struct modmap modules;
	VEC(u32) tids; /* by thread */
	VEC(struct pending) pending;
	struct map by_address; /* address and generation → named + 1 */
	VEC(struct named) names;
	u64 kinds[HW_KIND_COUNT]; /* numbers of the allocator's functions, 0 = none yet */
	u64 last_number;
	u64 rows;
	struct arena arena;
};

/* ---- names ---- */

/* A name is one line, and not empty. */
static const char *clean(struct exporting *self, const char *name)
{
	char *copy = arena_copy(&self->arena, *name ? name : "?");

	if (copy)
		text_clean(copy);
	return copy;
}

static const char *symbol_of(struct exporting *self, const struct modmap_module *module,
			     u64 address)
{
	const struct symbol_entry *entry =
		symbol_table_find(self->job->stacks.symbols, self->job->stacks.model->image.number,
				  module->id, address);

	return entry && entry->frame_count ? entry->frames[entry->frame_count - 1].function : "";
}

static const char *name_of(struct exporting *self, const struct modmap_module *module, u64 address)
{
	const char *name = module ? symbol_of(self, module, address) : "", *copy, *slash;
	struct strbuf text = {0};

	if (*name)
		return clean(self, name);
	slash = module ? strrchr(module->path, '/') : NULL;
	if (module)
		strbuf_addf(&text, "%s+", slash ? slash + 1 : module->path);
	strbuf_addf(&text, "0x%" PRIx64, address);
	copy = text.failed ? NULL : clean(self, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

static int routine_of(struct exporting *self, const struct stream_routine *row, struct named *named,
		      struct err *err)
{
	u32 generation = modmap_generation_at(&self->modules, row->ticks);
	u64 *known = map_at(&self->by_address, row->address ^ (u64)generation << 48);
	const struct modmap_module *module;
	u64 address;

	if (!known)
		return err_memory(err);
	if (*known) {
		*named = self->names.data[*known - 1];
		return 0;
	}
	module = modmap_find(&self->modules, row->address, generation);
	address = row->address - (module ? module->base : 0);
	named->name = name_of(self, module, address);
	named->number = self->imported ? address / EMAD_ROUTINE_BYTES : ++self->last_number;
	if (!named->name || !vec_push(&self->names, *named))
		return err_memory(err);
	*known = self->names.count;
	return 0;
}

/* ---- lines ---- */

static u64 time_of(const struct exporting *self, u64 ticks)
{
	return self->imported ? ticks : tick_clock_ns(&self->job->stacks.model->clock, ticks);
}

static void put_message(struct exporting *self, u32 thread, const struct named *named,
			const char *what)
{
	fprintf(self->out, "%u %" PRIu64 " %s %s", self->tids.data[thread], named->number, what,
		named->name);
}

static void put_enter(struct exporting *self, const struct stream_routine *row,
		      const struct named *named)
{
	put_message(self, row->thread, named, "start");
	if (self->imported && row->value) {
		bool frees = row->address >= emad_base(EMAD_FREES);

		fprintf(self->out, frees ? " %" PRIx64 : " %" PRIu64, row->value - 1);
	}
	fputc('\n', self->out);
}

static void put_leave(struct exporting *self, const struct stream_routine *row,
		      const struct named *named)
{
	struct pending *pending = &self->pending.data[row->thread];

	put_message(self, row->thread, named, "exit");
	if (pending->step == ROUTINE_ALLOCATION)
		fprintf(self->out, " %" PRIx64, pending->address);
	if (pending->step != ROUTINE_STEPS)
		fprintf(self->out, " %" PRIu64, time_of(self, row->ticks));
	fputc('\n', self->out);
	pending->step = ROUTINE_STEPS;
}

/* A call of the allocator, as if it were a routine. */
static void put_call(struct exporting *self, const struct stream_routine *row)
{
	static const char *const names[HW_KIND_COUNT] = {
		[HW_MALLOC] = "malloc",
		[HW_CALLOC] = "calloc",
		[HW_REALLOC] = "realloc",
		[HW_MEMALIGN] = "memalign",
		[HW_NEW] = "operator new",
		[HW_NEW_ARRAY] = "operator new[]",
		[HW_FREE] = "free",
		[HW_DELETE] = "operator delete",
		[HW_DELETE_ARRAY] = "operator delete[]",
	};
	bool allocates = row->step == ROUTINE_ALLOCATION;
	u32 kind = row->how < HW_KIND_COUNT && names[row->how] ? row->how
		   : allocates                                 ? HW_MALLOC
							       : HW_FREE;
	struct named named = {.name = names[kind]};

	if (!self->kinds[kind])
		self->kinds[kind] = ++self->last_number;
	named.number = self->kinds[kind];
	put_message(self, row->thread, &named, "start");
	fprintf(self->out, allocates ? " %" PRIu64 "\n" : " %" PRIx64 "\n",
		allocates ? row->value : row->address);
	put_message(self, row->thread, &named, "exit");
	if (allocates)
		fprintf(self->out, " %" PRIx64, row->address);
	fprintf(self->out, " %" PRIu64 "\n", time_of(self, row->ticks));
}

static int take_row(struct exporting *self, const struct stream_routine *row, struct err *err)
{
	struct named named;
	int status;

	if (row->step == ROUTINE_ALLOCATION || row->step == ROUTINE_FREE) {
		if (self->imported)
			self->pending.data[row->thread] = (struct pending){row->address, row->step};
		else
			put_call(self, row);
		return 0;
	}
	self->rows++;
	status = routine_of(self, row, &named, err);
	if (status < 0)
		return status;
	if (row->step == ROUTINE_ENTER)
		put_enter(self, row, &named);
	else
		put_leave(self, row, &named);
	return 0;
}

/* ---- the stream ---- */

static int take_routines(void *opaque, const struct stream_routine *rows, u64 count,
			 struct err *err)
{
	struct exporting *self = opaque;
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++)
		status = take_row(self, &rows[i], err);
	if (status == 0 && ferror(self->out))
		return err_set(err, ERR_SYSTEM, "cannot write the text");
	return status;
}

static int take_module(void *opaque, const struct stream_module *module, struct err *err)
{
	struct exporting *self = opaque;

	return modmap_tell(&self->modules, module, err);
}

static int take_thread(void *opaque, const struct stream_thread *thread, struct err *err)
{
	struct exporting *self = opaque;
	struct pending nothing = {.step = ROUTINE_STEPS};

	if (!vec_push(&self->tids, thread->tid) || !vec_push(&self->pending, nothing))
		return err_memory(err);
	return 0;
}

static bool is_imported(const struct model *model)
{
	for (u64 i = 0; i < model->notes.count; i++)
		if (strcmp(model->notes.data[i].key, EMAD_NOTE_KEY) == 0)
			return strcmp(model->notes.data[i].value, EMAD_NOTE) == 0;
	return false;
}

int emad_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct exporting self = {.job = job,
				 .out = out,
				 .imported = is_imported(job->stacks.model)};
	struct stream_sink sink = {.self = &self,
				   .module = take_module,
				   .thread = take_thread,
				   .routines = take_routines};
	struct trace_read_options how = {.image = (int)job->image};
	struct trace_reader *reader = trace_open(job->path, err);
	int status = reader ? trace_read(reader, &how, &sink, err) : err->code;

	if (status == 0 && !self.rows)
		status = err_set(
			err, ERR_INPUT,
			"%s has no routine events; record them with 'heapwise run --routines'",
			job->path);
	trace_close(reader);
	modmap_release(&self.modules);
	vec_release(&self.tids);
	vec_release(&self.pending);
	vec_release(&self.names);
	map_release(&self.by_address);
	arena_release(&self.arena);
	return status;
}
