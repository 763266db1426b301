/* SPDX-License-Identifier: MIT
 * Mapped files, addresses and stacks of heaptrack's files.
 * Host. */
#include <string.h>

#include "host/base/order.h"
#include "host/base/search.h"
#include "show/formats/heaptrack_inside.h"

enum { MODULES_MAX = 1 << 15, INLINED_MAX = 256 };

/* Each mapped file has a stretch of addresses of its own, wherever it was: interpreted files do not
 * say where, and files come and go. */
#define CODE_BITS 48

static u64 module_base(u32 module) { return (u64)(module + 1) << CODE_BITS; }

/* The number of the mapped file, told when it is new. */
static int module_number(struct importing *self, const char *path, u32 *module, struct err *err)
{
	struct stream_module told = {.path = path};
	u64 hash = hash_text(HASH_START, path), *known;
	int status = heaptrack_need_image(self, err);

	for (;; hash++) {
		known = map_at(&self->modules, hash);
		if (!known || !*known || !strcmp(self->module_paths.data[*known - 1], path))
			break;
	}
	if (!known)
		return err_memory_for(err, "the file");
	if (*known) {
		*module = (u32)*known - 1;
		return status;
	}
	if (self->module_paths.count == MODULES_MAX)
		return heaptrack_bad("too many mapped files", err);
	if (!vec_push(&self->module_paths, path))
		return err_memory_for(err, "the file");
	*known = self->module_paths.count;
	*module = told.id = (u32)*known - 1;
	told.base = told.start = module_base(*module);
	told.end = told.base + (1ull << CODE_BITS);
	told.loaded_ticks = self->trace.ticks;
	return status < 0 ? status : self->trace.sink.module(self->trace.sink.self, &told, err);
}

/* ---- code ---- */

static int compare_segments(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return rising(x->start, y->start);
}

static const struct segment *segment_find(struct importing *self, u64 ip)
{
	u64 count;

	if (!self->sorted)
		vec_sort(&self->segments, compare_segments);
	self->sorted = true;
	count = bisect(at, self->segments.count, self->segments.data[at].start <= ip);
	return count && ip < self->segments.data[count - 1].end ? &self->segments.data[count - 1]
								: NULL;
}

/* heaptrack has addresses of calls, a trace those to which they return. */
static u64 pc_in(u32 module, u64 address)
{
	return module_base(module) + (address & ((1ull << CODE_BITS) - 1)) + 1;
}

int heaptrack_module(struct importing *self, const char *at, struct err *err)
{
	const char *path = heaptrack_string(self, &at, false);
	struct segment segment = {0};
	u64 address, bytes;
	int status;

	if (!path)
		return heaptrack_bad("expected a file and its mapping after 'm'", err);
	if (strcmp(path, "-") == 0) {
		vec_clear(&self->segments);
		return 0;
	}
	if (strcmp(path, "x") == 0)
		path = self->program ? self->program : "";
	if (!heaptrack_number(&at, &segment.base))
		return heaptrack_bad("expected a file and its mapping after 'm'", err);
	status = module_number(self, path, &segment.module, err);
	self->sorted = false;
	while (status == 0 && heaptrack_number(&at, &address) && heaptrack_number(&at, &bytes)) {
		segment.start = segment.base + address;
		if (__builtin_add_overflow(segment.start, bytes, &segment.end))
			return heaptrack_bad("a mapped file extends beyond the end of memory", err);
		if (!vec_push(&self->segments, segment))
			return err_memory_for(err, "the file");
	}
	return status < 0 || !at[strspn(at, " ")]
		       ? status
		       : heaptrack_bad("expected pairs of numbers after 'm'", err);
}

static const char *string_at(const struct importing *self, u64 number)
{
	return number && number <= self->strings.count ? self->strings.data[number - 1] : "";
}

/* Names of an address: the first function is the innermost, inlined into the second, and so on. */
static int add_names(struct importing *self, const char *at, u32 module, u64 ip, struct err *err)
{
	struct symbol_frame found[INLINED_MAX], *frames;
	u64 function, file = 0, line = 0;
	u32 count = 0;

	while (count < INLINED_MAX && heaptrack_number(&at, &function)) {
		/* A function without a file ends the line. */
		bool placed = heaptrack_number(&at, &file);

		if (placed && !heaptrack_number(&at, &line))
			return heaptrack_bad("expected function, file and line after 'i'", err);
		found[count++] = (struct symbol_frame){.function = string_at(self, function),
						       .file = placed ? string_at(self, file) : "",
						       .line = placed ? (u32)line : 0,
						       .inlined = true};
	}
	if (at[strspn(at, " ")])
		return heaptrack_bad("expected at most 256 times function, file and line after 'i'",
				     err);
	if (!count)
		return 0;
	found[count - 1].inlined = false;
	frames = arena_new_array(&self->trace.arena, struct symbol_frame, count);
	if (!frames)
		return err_memory_for(err, "the file");
	memcpy(frames, found, count * sizeof(*frames));
	self->summary->named += *frames->function != 0;
	return vec_push(&self->trace.symbols,
			(struct symbol_entry){.module = module,
					      .address =
						      pc_in(module, ip) - 1 - module_base(module),
					      .frames = frames,
					      .frame_count = count})
		       ? 0
		       : err_memory_for(err, "the file");
}

int heaptrack_address(struct importing *self, const char *at, struct err *err)
{
	u64 ip, file;
	u32 module = 0;
	int status = 0;

	if (!heaptrack_number(&at, &ip) || !heaptrack_number(&at, &file))
		return heaptrack_bad("expected an address and a module after 'i'", err);
	if (file > self->strings.count)
		return heaptrack_bad("'i' refers to an unknown string", err);
	if (!file)
		return vec_push(&self->pcs, ip + 1) ? 0 : err_memory_for(err, "the file");
	if (!vec_extend(&self->module_of_string, file))
		return err_memory_for(err, "the file");
	if (self->module_of_string.data[file - 1]) {
		module = self->module_of_string.data[file - 1] - 1;
	} else {
		status = module_number(self, string_at(self, file), &module, err);
		self->module_of_string.data[file - 1] = module + 1;
	}
	if (status == 0)
		status = add_names(self, at, module, ip, err);
	if (status < 0)
		return status;
	return vec_push(&self->pcs, pc_in(module, ip)) ? 0 : err_memory_for(err, "the file");
}

int heaptrack_stack(struct importing *self, const char *at, struct err *err)
{
	u64 numbers[2], pc = 0;
	u32 id;
	int status;

	if (!heaptrack_numbers(at, numbers, 2, false))
		return heaptrack_bad("expected an address and the calling stack after 't'", err);
	if (numbers[1] > self->trace.last_context)
		return heaptrack_bad("'t' refers to an unknown stack", err);
	if (!self->summary->raw && numbers[0] > self->pcs.count)
		return heaptrack_bad("'t' refers to an unknown address", err);
	if (self->trace.last_context == UINT32_MAX - 1)
		return heaptrack_bad("too many stacks", err);
	status = heaptrack_need_image(self, err);
	if (self->summary->raw) {
		const struct segment *segment = segment_find(self, numbers[0]);

		pc = segment ? pc_in(segment->module, numbers[0] - segment->base) : numbers[0] + 1;
	} else if (numbers[0]) {
		pc = self->pcs.data[numbers[0] - 1];
	}
	return status < 0 ? status : import_context(&self->trace, (u32)numbers[1], pc, &id, err);
}
