/* SPDX-License-Identifier: MIT
 * heaptrack's files → a trace.
 * Host. One pass: what is kept is names, stacks, kinds of allocations, and blocks that are live. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/strbuf.h"
#include "show/formats/heaptrack_inside.h"
#include "format/session.h"

enum { FORMAT_INDEXES = 1, FORMAT_SIZED = 3, FORMAT_NEWEST = 3 };

#define NS_PER_MS 1000000ull
#define MS_MAX (100ull * 366 * 86400 * 1000)
#define SIZE_MAX_BYTES (1ull << 48)
#define BLOCK_FIRST (1ull << 32) /* of the addresses that blocks of interpreted files get */

int heaptrack_bad(const char *what, struct err *err) { return err_set(err, ERR_INPUT, "%s", what); }

/* ---- lines ---- */

bool heaptrack_number(const char **at, u64 *number)
{
	char *end;

	*at += strspn(*at, " ");
	if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 16);
	if (errno || (*end && *end != ' '))
		return false;
	*at = end;
	return true;
}

bool heaptrack_numbers(const char *at, u64 *numbers, u32 wanted, bool more)
{
	for (u32 i = 0; i < wanted; i++)
		if (!heaptrack_number(&at, &numbers[i]))
			return false;
	return more || !at[strspn(at, " ")];
}

const char *heaptrack_string(struct importing *self, const char **at, bool whole_line)
{
	const char *end = self->file.line + self->file.length;
	u64 bytes;

	*at += strspn(*at, " ");
	if (self->format >= FORMAT_SIZED) {
		if (!heaptrack_number(at, &bytes) || **at != ' ' || bytes > (u64)(end - *at - 1))
			return NULL;
		++*at;
	} else {
		bytes = whole_line ? (u64)(end - *at) : strcspn(*at, " ");
	}
	*at += bytes;
	return arena_copy_text(&self->trace.arena, *at - bytes, bytes);
}

/* ---- the trace ---- */

static int tell_note(struct importing *self, struct err *err)
{
	char text[64];
	int status;

	snprintf(text, sizeof(text), "heaptrack %" PRIx64 ".%" PRIx64 ".%" PRIx64 ", %s",
		 self->version >> 16, self->version >> 8 & 0xff, self->version & 0xff,
		 self->summary->raw ? "raw" : "interpreted");
	status = self->trace.sink.note(self->trace.sink.self, "imported", text, err);
	if (status == 0 && !self->pointers_told)
		status = self->trace.sink.note(
			self->trace.sink.self, "runtime_hint",
			"imported from a heaptrack file without block addresses: addresses are "
			"invented, and a free ends the newest chunk of its size and stack",
			err);
	return status;
}

/* Before anything else is told, when it is known what the file is. */
int heaptrack_need_image(struct importing *self, struct err *err)
{
	struct stream_image image = {.start_ticks = 1, .flags = HW_RUN_ALLOC_STACKS};
	struct stream_thread thread = {.tid = 1, .start_ticks = 1};
	int status;

	if (self->told_image)
		return 0;
	self->told_image = true;
	image.command = self->command ? self->command : self->how->from;
	image.program = self->program ? self->program
				      : arena_copy_text(&self->trace.arena, image.command,
							strcspn(image.command, " "));
	if (!image.program)
		return err_memory_for(err, "the file");
	if (self->continued)
		image.flags |= HW_RUN_CONTINUED;
	status = self->trace.sink.image(self->trace.sink.self, &image, err);
	if (status == 0)
		status = self->trace.sink.thread(self->trace.sink.self, &thread, err);
	return status;
}

/* ---- blocks ---- */

static struct live *live_new(struct importing *self, u64 *number)
{
	if (self->unused) {
		*number = self->unused - 1;
		self->unused = self->lives.data[*number].next;
		return &self->lives.data[*number];
	}
	if (!vec_push(&self->lives, (struct live){0}))
		return NULL;
	*number = self->lives.count - 1;
	return &self->lives.data[*number];
}

static int end_newest(struct importing *self, u64 key, u8 flags, struct err *err)
{
	struct event event = {.address = key, .chunk = NO_CHUNK, .kind = HW_FREE, .flags = flags};
	u64 *head = map_find(&self->heads, key), number;
	struct live *live;

	if (!head)
		return import_death(&self->trace, &event, err);
	number = *head - 1;
	live = &self->lives.data[number];
	event.address = live->address;
	event.size = live->size;
	event.chunk = live->chunk;
	if (live->next)
		*head = live->next;
	else
		map_remove(&self->heads, key, NULL);
	live->next = self->unused;
	self->unused = number + 1;
	return import_death(&self->trace, &event, err);
}

static int begin(struct importing *self, u64 key, const struct live *block, struct err *err)
{
	struct event event = {.address = block->address,
			      .size = block->size,
			      .context = block->stack,
			      .kind = HW_MALLOC};
	u64 number, *head;
	struct live *live = live_new(self, &number);

	if (!live)
		return err_memory_for(err, "the file");
	*live = *block;
	live->chunk = self->trace.chunks;
	head = map_at(&self->heads, key);
	if (!head)
		return err_memory_for(err, "the file");
	live->next = *head;
	*head = number + 1;
	return import_birth(&self->trace, &event, err);
}

/* One owner at a time: if the end of the last one was missed, it ends now. */
static int allocate_at(struct importing *self, const char *at, struct err *err)
{
	u64 numbers[3];
	int status = heaptrack_need_image(self, err);

	if (!heaptrack_numbers(at, numbers, 3, false))
		return heaptrack_bad("expected size, stack and address after '+'", err);
	if (numbers[1] > self->trace.last_context)
		return heaptrack_bad("'+' refers to an unknown stack", err);
	if (numbers[0] > SIZE_MAX_BYTES)
		return heaptrack_bad("an allocation is larger than the address space", err);
	if (status == 0 && map_find(&self->heads, numbers[2]))
		status = end_newest(self, numbers[2], EVENT_IMPLIED, err);
	return status < 0 ? status
			  : begin(self, numbers[2],
				  &(struct live){.size = numbers[0],
						 .stack = (u32)numbers[1],
						 .address = numbers[2]},
				  err);
}

static int allocate_kind(struct importing *self, const char *at, struct err *err)
{
	struct live block = {.address = self->next_address};
	u64 kind;
	int status = heaptrack_need_image(self, err);

	if (!heaptrack_numbers(at, &kind, 1, false))
		return heaptrack_bad("expected the number of an allocation after '+'", err);
	if (kind >= self->kinds.count)
		return heaptrack_bad("'+' refers to an unknown allocation", err);
	block.size = self->kinds.data[kind].size;
	block.stack = self->kinds.data[kind].stack;
	self->next_address += block.size / 16 * 16 + 16;
	return status < 0 ? status : begin(self, kind, &block, err);
}

static int take_kind(struct importing *self, const char *at, struct err *err)
{
	u64 numbers[2];

	if (!heaptrack_numbers(at, numbers, 2, false))
		return heaptrack_bad("expected size and stack after 'a'", err);
	if (numbers[1] > self->trace.last_context)
		return heaptrack_bad("'a' refers to an unknown stack", err);
	if (numbers[0] > SIZE_MAX_BYTES)
		return heaptrack_bad("an allocation is larger than the address space", err);
	return vec_push(&self->kinds, (struct kind_of_block){numbers[0], (u32)numbers[1]})
		       ? 0
		       : err_memory_for(err, "the file");
}

static int take_free(struct importing *self, const char *at, struct err *err)
{
	u64 key;
	int status = heaptrack_need_image(self, err);

	if (!heaptrack_numbers(at, &key, 1, false))
		return heaptrack_bad("expected one number after '-'", err);
	if (!self->pointers_told && key >= self->kinds.count)
		return heaptrack_bad("'-' refers to an unknown allocation", err);
	return status < 0 ? status : end_newest(self, key, 0, err);
}

/* ---- the rest ---- */

static int take_version(struct importing *self, const char *at, struct err *err)
{
	if (!heaptrack_number(&at, &self->version))
		return heaptrack_bad("not a heaptrack file", err);
	if (!heaptrack_number(&at, &self->format))
		self->format = self->version == 0x10200; /* was told by the version then */
	if (self->format > FORMAT_NEWEST)
		return err_set(err, ERR_INPUT,
			       "heaptrack file format %" PRIu64 " is too new; this heapwise reads "
			       "formats up to %d",
			       self->format, FORMAT_NEWEST);
	self->has_version = true;
	return 0;
}

static int take_time(struct importing *self, const char *at, struct err *err)
{
	u64 ms;

	if (!heaptrack_numbers(at, &ms, 1, true) || ms > MS_MAX)
		return heaptrack_bad("expected a time in milliseconds after 'c'", err);
	if (1 + ms * NS_PER_MS > self->trace.ticks)
		self->trace.ticks = 1 + ms * NS_PER_MS;
	return 0;
}

static int take_resident(struct importing *self, const char *at, struct err *err)
{
	struct stream_usage usage = {.ticks = self->trace.ticks};
	u64 pages;
	int status = heaptrack_need_image(self, err);

	if (!heaptrack_number(&at, &pages) ||
	    __builtin_mul_overflow(pages, self->page_bytes, &usage.rss_bytes))
		return heaptrack_bad("expected a number of pages after 'R'", err);
	return status < 0 ? status : self->trace.sink.usage(self->trace.sink.self, &usage, err);
}

static int take_text(struct importing *self, char mode, const char *at, struct err *err)
{
	const char *text = mode == 'X' ? arena_copy(&self->trace.arena, at)
				       : heaptrack_string(self, &at, true);

	if (!text)
		return heaptrack_bad("a string is shorter than its stated length", err);
	if (mode == 'X')
		self->command = text;
	else if (mode == 'x')
		self->program = text;
	else
		return vec_push(&self->strings, text) ? 0 : err_memory_for(err, "the file");
	return 0;
}

static int take_allocation(struct importing *self, const char *at, struct err *err)
{
	return self->pointers_told ? allocate_at(self, at, err) : allocate_kind(self, at, err);
}

/* Raw files have modules, interpreted ones strings; blocks have addresses in the former and in old
 * ones. */
static void learn(struct importing *self, char mode)
{
	self->summary->raw |= mode == 'x' || mode == 'm';
	self->pointers_told = self->summary->raw || self->format < FORMAT_INDEXES;
}

static int take_line(void *self_, struct unpack *file, struct err *err)
{
	struct importing *self = self_;
	char mode = *file->line;
	const char *at = file->line + (mode != 0);
	u64 numbers[1];

	if (!mode || mode == '#')
		return 0;
	if ((mode == 'v') == self->has_version || (*at && *at != ' '))
		return heaptrack_bad(self->has_version ? "invalid heaptrack line"
						       : "not a heaptrack file",
				     err);
	at += *at == ' ';
	learn(self, mode);
	switch (mode) {
	case 'v': return take_version(self, at, err);
	case 'x':
	case 'X':
	case 's': return take_text(self, mode, at, err);
	case 'I':
		if (!heaptrack_numbers(at, numbers, 1, true))
			return heaptrack_bad("expected the page size after 'I'", err);
		self->page_bytes = numbers[0];
		return 0;
	case 'm': return heaptrack_module(self, at, err);
	case 'i': return heaptrack_address(self, at, err);
	case 't': return heaptrack_stack(self, at, err);
	case 'a': return take_kind(self, at, err);
	case '+': return take_allocation(self, at, err);
	case '-': return take_free(self, at, err);
	case 'c': return take_time(self, at, err);
	case 'R': return take_resident(self, at, err);
	case 'A': self->continued = true; return 0;
	case 'S': return 0;
	default: return heaptrack_bad("invalid heaptrack line", err);
	}
}

static int read_all(struct importing *self, struct err *err)
{
	int status = import_lines(&self->file, self->how->from, take_line, self, err);

	self->summary->cut = self->file.cut;
	if (status == 0 && !self->has_version)
		status = err_set(err, ERR_INPUT,
				 self->file.cut ? "%s is truncated before the end of its first line"
						: "%s is empty",
				 self->how->from);
	return status;
}

/* A file that breaks off gives a trace that does. */
static int tell_all(struct import *trace, struct err *err)
{
	struct importing *self = (struct importing *)trace;
	struct stream_clock clock;
	int status = read_all(self, err);

	if (status == 0)
		status = heaptrack_need_image(self, err);
	if (status == 0)
		status = tell_note(self, err);
	clock = (struct stream_clock){.ticks = trace->ticks + 1, .ns = trace->ticks};
	return status < 0 ? status : import_end(trace, &clock, !self->summary->cut, err);
}

/* Written beside its place, so that a bad file costs nothing. */
static int write_beside(struct importing *self, struct err *err)
{
	struct strbuf path = {0};
	int fd, status;

	strbuf_addf(&path, "%s.XXXXXX", self->how->to);
	fd = path.failed ? -1 : mkstemp(path.text);
	if (fd < 0) {
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", self->how->to,
				 strerror(errno));
		strbuf_release(&path);
		return status;
	}
	close(fd);
	status = import_write(&self->trace, path.text, tell_all, err);
	if (status == 0 && rename(path.text, self->how->to) != 0)
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", self->how->to,
				 strerror(errno));
	if (status < 0)
		unlink(path.text);
	strbuf_release(&path);
	return status;
}

static void release(struct importing *self)
{
	vec_release(&self->strings);
	vec_release(&self->pcs);
	vec_release(&self->module_paths);
	vec_release(&self->module_of_string);
	vec_release(&self->segments);
	vec_release(&self->kinds);
	vec_release(&self->lives);
	map_release(&self->modules);
	map_release(&self->heads);
	import_release(&self->trace);
	free(self);
}

int heaptrack_import(const struct heaptrack_import *how, struct heaptrack_summary *summary,
		     struct err *err)
{
	struct importing *self = calloc(1, sizeof(*self));
	int status;

	*summary = (struct heaptrack_summary){0};
	if (!self)
		return err_memory_for(err, "the file");
	self->how = how;
	self->summary = summary;
	self->trace.ticks = 1;
	self->page_bytes = 4096;
	self->next_address = BLOCK_FIRST;
	status = write_beside(self, err);
	summary->allocations = self->trace.totals.allocations;
	summary->frees = self->trace.totals.frees;
	summary->unknown_frees = self->trace.totals.unknown_frees;
	summary->stacks = self->trace.last_context;
	release(self);
	return status;
}
