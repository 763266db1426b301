/* SPDX-License-Identifier: MIT
 * Units → threads → one index.
 * Runs on the host. The old index stays as it is until the new one is complete. */
#include "host/symbols/indexer/indexer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/atomics.h"
#include "host/base/io.h"
#include "host/symbols/indexer/merge.h"

enum {
	THREADS_MAX = 64,
	STACK_BYTES =
		256 << 20, /* expressions of generated code nest deeply; only what is used counts */
};

struct work {
	const struct indexer_options *options;
	struct clang clang;
	struct unit_list list;
	struct type_index *old;
	u8 *changed;    /* per file of the old index: 0 = not asked yet, 1 = no, 2 = yes */
	u64 next, done; /* of units; atomic */
};

static void *work_thread(void *opaque)
{
	struct work *self = opaque;
	u64 count = self->list.units.count;

	for (;;) {
		u64 i = add_relaxed(&self->next, 1);
		u64 done;

		if (i >= count)
			return NULL;
		if (self->list.units.data[i].old == NO_OLD_UNIT)
			unit_parse(&self->list.units.data[i], &self->clang, self->options);
		done = add_relaxed(&self->done, 1) + 1;
		if (self->options->progress)
			self->options->progress(self->options->progress_self,
						(double)done / (double)count);
	}
}

static int work_run(struct work *self, struct err *err)
{
	pthread_t threads[THREADS_MAX];
	pthread_attr_t attributes;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	u64 count = self->options->threads ? self->options->threads : (u64)(cpus > 0 ? cpus : 1);
	u64 started = 0;

	count = count > THREADS_MAX ? THREADS_MAX : count;
	if (count > self->list.units.count)
		count = self->list.units.count;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	while (started < count &&
	       !pthread_create(&threads[started], &attributes, work_thread, self))
		started++;
	pthread_attr_destroy(&attributes);
	for (u64 i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started || !count ? 0 : err_set(err, ERR_SYSTEM, "cannot start a thread");
}

static bool file_changed(struct work *self, u32 file)
{
	const struct type_file *was = &self->old->files.data[file];
	struct type_file now;

	if (!self->changed[file]) {
		file_state(was->path, &now);
		self->changed[file] =
			now.mtime_ns == was->mtime_ns && now.bytes == was->bytes ? 1 : 2;
	}
	return self->changed[file] == 2;
}

/* The unit of the old index that says the same, or NO_OLD_UNIT. */
static u64 find_old(struct work *self, const struct map *by_key, const struct unit *unit)
{
	u64 *number = map_find(by_key, unit->key);
	const struct type_unit *old = number ? &self->old->units.data[*number] : NULL;

	if (!old || strcmp(old->main_file, unit->path) || !old->files.count)
		return NO_OLD_UNIT;
	for (u64 i = 0; i < old->files.count; i++)
		if (file_changed(self, old->files.data[i]))
			return NO_OLD_UNIT;
	return *number;
}

static int use_old(struct work *self, struct err *err)
{
	struct map by_key = {0};
	struct err ignored = {0};
	int status = 0;

	if (self->options->anew)
		return 0;
	self->old = type_index_load(self->options->output, &ignored);
	if (!self->old) /* none, or one of another version: made anew */
		return 0;
	self->changed = calloc(self->old->files.count + 1, 1);
	for (u64 i = 0; self->changed && i < self->old->units.count && !status; i++)
		if (!map_put(&by_key, self->old->units.data[i].key, i))
			status = ERR_MEMORY;
	if (!self->changed || status)
		status = err_memory(err);
	for (u64 i = 0; i < self->list.units.count && !status; i++)
		self->list.units.data[i].old = find_old(self, &by_key, &self->list.units.data[i]);
	map_release(&by_key);
	return status;
}

/* What else decides what is found: the compiler's version and the names of functions. */
static void finish_keys(struct work *self, const char *compiler)
{
	u64 hash = hash_text(HASH_START, compiler);

	for (u32 i = 0; i < self->options->function_count; i++)
		hash = hash_text(hash, self->options->functions[i]);
	for (u64 i = 0; i < self->list.units.count; i++)
		self->list.units.data[i].key ^= hash;
}

/* In a place of its own first, so that no reader ever meets half an index. */
static int write_index(const char *path, const struct strbuf *text, struct err *err)
{
	struct strbuf next = {0};
	int status;

	strbuf_addf(&next, "%s.%ld.new", path, (long)getpid());
	if (next.failed || text->failed) {
		strbuf_release(&next);
		return err_memory(err);
	}
	status = io_write_file(strbuf_text(&next), text->text, text->count, err);
	if (!status && rename(strbuf_text(&next), path))
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %m", path);
	if (status)
		unlink(strbuf_text(&next));
	strbuf_release(&next);
	return status;
}

static void count_unit(const struct unit *unit, struct indexer_summary *summary)
{
	summary->units++;
	summary->parsed += unit->parsed;
	summary->failed += unit->failed;
	summary->errors += unit->errors;
	if (!*summary->first_error && unit->failed)
		snprintf(summary->first_error, sizeof summary->first_error,
			 "%.400s: libclang cannot parse it with these options", unit->path);
	else if (!*summary->first_error && unit->errors)
		memcpy(summary->first_error, unit->first_error, sizeof summary->first_error);
}

static void count_places(const struct merge *merge, struct indexer_summary *summary)
{
	const struct type_site *last = NULL;
	bool typed = false;

	for (u64 i = 0; i < merge->sites.count; i++) {
		const struct type_site *site = &merge->sites.data[i];

		if (!last || last->file != site->file || last->line != site->line ||
		    last->column != site->column || last->end_column != site->end_column) {
			summary->places++;
			typed = false;
		}
		summary->typed += !typed && *site->type;
		typed |= *site->type != 0;
		last = site;
	}
	summary->files = merge->files.count;
}

static int work_finish(struct work *self, struct indexer_summary *summary, struct err *err)
{
	struct merge merge = {0};
	struct strbuf text = {0};
	int status = 0;

	for (u64 i = 0; i < self->list.units.count; i++) {
		struct unit *unit = &self->list.units.data[i];

		count_unit(unit, summary);
		if (unit->old != NO_OLD_UNIT)
			merge_old_unit(&merge, self->old, &self->old->units.data[unit->old]);
		else if (!unit->failed)
			merge_unit(&merge, unit);
	}
	count_places(&merge, summary);
	merge_text(&merge, summary->compiler, &text);
	if (merge.failed)
		status = err_memory(err);
	if (!status && summary->failed == summary->units)
		status = err_set(err, ERR_INPUT, "%s", summary->first_error);
	if (!status)
		status = write_index(self->options->output, &text, err);
	summary->index_bytes = text.count;
	strbuf_release(&text);
	merge_release(&merge);
	return status;
}

int indexer_run(const struct indexer_options *options, struct indexer_summary *summary,
		struct err *err)
{
	struct work self = {.options = options};
	int status = clang_load(&self.clang, err);
	CXString version;

	*summary = (struct indexer_summary){0};
	if (status)
		return status;
	version = self.clang.getClangVersion();
	snprintf(summary->compiler, sizeof summary->compiler, "%s", self.clang.getCString(version));
	self.clang.disposeString(version);
	status = unit_list_read(&self.list, &self.clang, options, err);
	if (!status) {
		finish_keys(&self, summary->compiler);
		status = use_old(&self, err);
	}
	if (!status)
		status = work_run(&self, err);
	if (!status)
		status = work_finish(&self, summary, err);
	type_index_free(self.old);
	free(self.changed);
	unit_list_release(&self.list);
	/* Not unloaded: LLVM's destructors at exit would find their code gone. */
	return status;
}
