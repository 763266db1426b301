/* SPDX-License-Identifier: MIT
 * Reads traces and hands them to a store.
 * Host. */
#include "show/cli/pushing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "show/cli/opening.h"
#include "show/cli/traces.h"
#include "show/fleet/spool.h"
#include "host/base/units.h"

struct wanted {
	const char *path;
	u64 run;
	u64 time;
};

struct wanted_list {
	VEC(struct wanted) rows;
	struct arena arena;
};

static void complain(struct pushing *self, const struct err *err)
{
	command_fail(self->command, err);
}

int pushing_open(struct pushing *self, const char *address)
{
	struct err err = {0};
	char *copy = strdup(address);
	int status;

	/* First: to connect may take long. */
	address_hide_password((char *)(uintptr_t)address);
	if (!copy)
		status = err_memory(&err);
	else if (profile_is_address(copy))
		status = profile_open(&self->profiles, copy, &err);
	else
		status = pusher_open(&self->pusher, copy, &err);
	free(copy);
	self->opened = status == 0;
	return status < 0 ? command_fail(self->command, &err) : EXIT_DONE;
}

void pushing_close(struct pushing *self)
{
	pusher_close(&self->pusher);
	profile_close(&self->profiles);
}

struct run_about pushing_about(struct pushing *self)
{
	gethostname(self->host_name, sizeof self->host_name - 1);
	return (struct run_about){.host = self->host ? self->host : self->host_name,
				  .version = self->version ? self->version : "",
				  .build = self->build,
				  .labels = self->labels ? self->labels->items : NULL,
				  .label_count = self->labels ? self->labels->count : 0};
}

/* ---- which runs ---- */

/* A trace that is being written, was cut off or is damaged is refused: its numbers would be those
 * of another run. */
static int check_whole(const struct pushing *self, const struct study *trace, struct err *err)
{
	if (self->partial)
		return 0;
	if (study_is_being_written(trace->path))
		return err_set(err, ERR_INPUT, "%s is still being written", trace->path);
	if (!trace->info.complete || !trace->info.images)
		return err_set(err, ERR_INPUT,
			       "%s is incomplete: its recording was cut short; --partial pushes "
			       "what is there",
			       trace->path);
	return 0;
}

static int add_trace(struct pushing *self, struct wanted_list *list, const char *path,
		     struct err *err)
{
	struct study_options how = {.image = self->image};
	struct study *trace = study_new(path, &how);
	struct wanted row = {.path = arena_copy(&list->arena, path)};
	struct stat about;
	int status = trace ? study_look(trace, err) : err_memory(err);

	if (status == 0)
		status = check_whole(self, trace, err);
	if (status == 0)
		status = run_id(path, study_image(trace), &row.run, err);
	row.time = status == 0 && stat(path, &about) == 0 ? (u64)about.st_mtime : 0;
	study_free(trace);
	if (status == 0 && (!row.path || !vec_push(&list->rows, row)))
		status = err_memory(err);
	return status;
}

static void add_operand(struct pushing *self, struct wanted_list *list, const char *operand)
{
	struct trace_list traces = {0};
	struct err err = {0};

	if (trace_list_find(&traces, operand, &err) < 0) {
		complain(self, &err);
		self->wanted++;
		self->failed++;
	}
	for (u64 i = 0; i < traces.paths.count; i++) {
		self->wanted++;
		if (add_trace(self, list, traces.paths.data[i], &err) < 0) {
			complain(self, &err);
			self->failed++;
		}
	}
	trace_list_release(&traces);
}

/* ---- one run ---- */

static int push_loaded(struct pushing *self, struct study *trace, const struct wanted *what,
		       struct arena *arena, struct err *err)
{
	struct run_about about = pushing_about(self);
	struct export_job job = {.path = trace->path, .info = &trace->info};
	struct run_source source = {.job = &job,
				    .about = &about,
				    .run = what->run,
				    .push = push_number()};

	about.time = what->time;
	about.chunks = self->chunks;
	about.trace = self->trace;
	if (self->kept_about && self->kept_about(what->path, arena, &about, err) < 0) {
		self->failed++;
		return err->code;
	}
	if (trace->info.damaged_blocks && !self->partial) {
		self->failed++;
		return err_set(err, ERR_INPUT,
			       "%s is damaged (%s); --partial pushes the readable part",
			       trace->path, trace->info.damage);
	}
	job.stacks = typed_stacks(trace, FORMAT_JSON, 0);
	if (trace->point_types)
		job.types = &trace->types;
	if (self->profiles.url) {
		int status = profile_push(&self->profiles, &source, err);

		self->sent_profiles += status == 0;
		self->failed += status < 0;
		return status;
	}
	return pusher_add(&self->pusher, &source, err);
}

static int push_trace(struct pushing *self, const struct wanted *what, struct err *err)
{
	const struct trace_args how = {.image = self->image, .symbols = self->symbols};
	struct study *trace = open_trace(self->command, &how, NULL, what->path, err);
	struct arena arena = {0};
	int status = trace ? push_loaded(self, trace, what, &arena, err) : err->code;

	self->failed += !trace;
	close_trace(trace);
	arena_release(&arena);
	return status;
}

/* The same sentence is said once, not for each trace. */
static void complain_once(struct pushing *self, const struct err *err, struct err *last)
{
	if (strcmp(err->text, last->text) != 0)
		complain(self, err);
	*last = *err;
}

static void push_wanted(struct pushing *self, const struct wanted_list *list, bool *there)
{
	struct err err = {0}, last = {0};

	for (u64 i = 0; i < list->rows.count; i++) {
		if (there[i])
			self->there++;
		else if (push_trace(self, &list->rows.data[i], &err) < 0)
			complain_once(self, &err, &last);
		else
			there[i] = self->profiles.url != NULL;
	}
	if (!self->profiles.url && pusher_flush(&self->pusher, &err) < 0)
		complain_once(self, &err, &last);
	self->failed += self->pusher.lost_runs;
}

/* Copies of one trace are one run. */
static void mark_copies(const struct wanted_list *list, bool *there)
{
	struct map seen = {0};

	for (u64 i = 0; i < list->rows.count; i++) {
		u64 *known = map_at(&seen, list->rows.data[i].run);

		there[i] |= known && *known;
		if (known)
			*known = 1;
	}
	map_release(&seen);
}

/* The store is asked again: what it does not have must not be removed anywhere. */
static void tell_delivered(struct pushing *self, const struct wanted_list *list, const u64 *runs,
			   bool *there)
{
	struct err err = {0};

	if (!self->delivered ||
	    (!self->profiles.url &&
	     pusher_has(&self->pusher, runs, list->rows.count, there, &err) < 0))
		return;
	for (u64 i = 0; i < list->rows.count; i++)
		if (there[i])
			self->delivered(list->rows.data[i].path, self->delivered_self);
}

static int push_list(struct pushing *self, const struct wanted_list *list, struct err *err)
{
	u64 count = list->rows.count, *runs = calloc(count + 1, sizeof *runs);
	bool *there = calloc(count + 1, sizeof *there);
	int status = runs && there ? 0 : err_memory(err);

	for (u64 i = 0; i < count && status == 0; i++)
		runs[i] = list->rows.data[i].run;
	if (status == 0 && !self->profiles.url)
		status = pusher_has(&self->pusher, runs, count, there, err);
	if (status == 0) {
		mark_copies(list, there);
		push_wanted(self, list, there);
		tell_delivered(self, list, runs, there);
	}
	free(runs);
	free(there);
	return status;
}

int pushing_all(struct pushing *self, int count, char **operands)
{
	struct wanted_list list = {0};
	struct err err = {0};
	u64 start = now_ns();

	for (int i = 0; i < count; i++)
		add_operand(self, &list, operands[i]);
	if (push_list(self, &list, &err) < 0) {
		complain(self, &err);
		self->failed = self->wanted;
	}
	vec_release(&list.rows);
	arena_release(&list.arena);
	self->seconds = (double)(now_ns() - start) / 1e9;
	return self->failed ? EXIT_BAD_INPUT : EXIT_DONE;
}

/* ---- from a spool ---- */

static void drop_oldest(const struct pushing *self, const char *folder, u64 max_bytes)
{
	struct spool_list list = {0};

	spool_list_fill(&list, folder);
	for (u64 i = 0; i < list.rows.count; i++) {
		struct spooled *row = &list.rows.data[i];

		if (list.bytes > max_bytes && !study_is_being_written(row->path) &&
		    unlink(row->path) == 0) {
			spool_remove(row->path); /* and what is beside it */
			fprintf(stderr,
				"heapwise %s: the spool is full (%s); %s was removed without being "
				"delivered\n",
				self->command->name, units_bytes(max_bytes).text, row->path);
			list.bytes -= row->bytes;
		}
	}
	spool_list_release(&list);
}

/* Traces that are complete, one operand each: those that are being written wait for their end. */
static int deliver_list(struct pushing *self, const struct spool_list *list)
{
	char **paths = calloc(list->rows.count + 1, sizeof *paths);
	int count = 0, status = EXIT_DONE;

	for (u64 i = 0; paths && i < list->rows.count; i++)
		if (!study_is_being_written(list->rows.data[i].path))
			paths[count++] = list->rows.data[i].path;
	if (count)
		status = pushing_all(self, count, paths);
	free(paths);
	return paths ? status : EXIT_BAD_INPUT;
}

static void remove_delivered(const char *path, void *self)
{
	(void)self;
	spool_remove(path);
}

int pushing_deliver(struct pushing *self, const char *address, const char *folder, u64 max_bytes)
{
	struct spool_list list = {0};
	struct err err = {0};
	int lock, status = EXIT_DONE;

	if (spool_lock(folder, &lock, &err) < 0)
		return command_fail(self->command, &err);
	if (lock < 0)
		return EXIT_DONE;
	spool_list_fill(&list, folder);
	self->kept_about = spool_about;
	self->delivered = remove_delivered;
	if (list.rows.count) {
		status = pushing_open(self, address);
		if (status == EXIT_DONE)
			status = deliver_list(self, &list);
	}
	spool_list_release(&list);
	drop_oldest(self, folder, max_bytes);
	close(lock);
	return status;
}

/* ---- what was done ---- */

struct result *pushing_result(const struct pushing *self)
{
	struct result *result = result_new(RESULT_RECORD, "push", "Pushed");
	const struct pusher *pusher = &self->pusher;
	struct {
		const char *name, *label;
		enum value_type type;
		const char *meaning;
		u64 value;
	} fields[] = {
		{"runs", "runs", VALUE_COUNT, "runs sent and visible in the store",
		 pusher->sent_runs + self->sent_profiles},
		{"there", "already there", VALUE_COUNT, "runs that the store already had",
		 self->there},
		{"failed", "failed", VALUE_COUNT, "runs that are not in the store", self->failed},
		{"points", "points", VALUE_COUNT, "rows of points", pusher->sent[TABLE_POINTS]},
		{"types", "types", VALUE_COUNT, "rows of types", pusher->sent[TABLE_TYPES]},
		{"findings", "findings", VALUE_COUNT, "rows of findings",
		 pusher->sent[TABLE_FINDINGS]},
		{"timelines", "timelines", VALUE_COUNT, "rows of timelines",
		 pusher->sent[TABLE_TIMELINES]},
		{"chunks", "chunks", VALUE_COUNT, "rows of chunks", pusher->sent[TABLE_CHUNKS]},
		{"stacks", "new stacks", VALUE_COUNT, "stacks that the store did not have",
		 pusher->sent[TABLE_STACKS]},
		{"names", "new names", VALUE_COUNT, "names that the store did not have",
		 pusher->sent[TABLE_NAMES]},
		{"bytes", "bytes", VALUE_BYTES, "size of all rows or profiles",
		 pusher->store.raw_bytes + self->profiles.raw_bytes},
		{"sent_bytes", "sent", VALUE_BYTES, "size of all rows or profiles, compressed",
		 pusher->store.sent_bytes},
		{"time_ns", "time", VALUE_NS, "total time, including reading",
		 (u64)(self->seconds * 1e9)},
	};

	for (u32 i = 0; result && i < sizeof fields / sizeof *fields; i++) {
		struct result_column column = {.name = fields[i].name,
					       .label = fields[i].label,
					       .type = fields[i].type,
					       .meaning = fields[i].meaning,
					       .hide_zero = i > 0};

		result_add_field(result, column, value_number(fields[i].value));
	}
	return result;
}
