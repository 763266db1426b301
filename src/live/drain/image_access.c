/* SPDX-License-Identifier: MIT
 * Accesses of an image: parts out of the rings, and what is noted of them at its end; see image.h.
 * Runs on the drain thread. */
#include "live/drain/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/strbuf.h"
#include "format/atomics.h"
#include "live/drain/access.h"
#include "live/program/program.h"
#include "live/program/unchecked.h"

u32 image_access_mode(struct image *self)
{
	u32 mode = load_relaxed(&self->berth.control->access);

	if (mode < ACCESS_MODES)
		return mode;
	self->damaged++;
	return ACCESS_NONE;
}

int image_add_part(struct image *self, struct slot_cursor *slot, bool nested,
		   const struct hw_record *record, struct err *err)
{
	struct access_gather *gather;

	if (!slot->gathers)
		slot->gathers = calloc(2, sizeof(*slot->gathers));
	if (!slot->gathers)
		return err_memory_for(err, "accesses");
	gather = &slot->gathers[nested];
	switch (access_gather_part(gather, record)) {
	case ACCESS_MORE: return 1;
	case ACCESS_WHOLE:
		if (!correlator_give_access(self->correlator, &gather->row))
			return err_memory_for(err, "accesses");
		return 0;
	case ACCESS_DAMAGED: break;
	}
	self->damaged++;
	self->damaged_accesses++;
	return 1;
}

int image_note_number(struct image *self, const char *key, u64 number, struct err *err)
{
	char value[32];

	if (!number || !self->sink.note)
		return 0;
	snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
	return self->sink.note(self->sink.self, key, value, err);
}

/* Modules of ours and of the kernel access no chunk of the program's. */
static bool is_apart(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash || strncmp(slash, "/libheapwise", 12) == 0;
}

/* A note of modules: their paths, one to a line. */
static int note_modules(struct image *self, const char *key, bool (*has)(const char *path),
			struct err *err)
{
	struct strbuf text = {0};
	int status = 0;

	for (u64 i = 0; i < self->modules.count; i++) {
		const char *path = self->modules.data[i].told.path;

		if (is_apart(path) || (text.text && strstr(text.text, path)) || !has(path))
			continue;
		strbuf_addf(&text, "%s%s", text.count ? "\n" : "", path);
	}
	if (text.count && text.text)
		status = self->sink.note(self->sink.self, key, text.text, err);
	strbuf_release(&text);
	return status;
}

static bool is_plain(const char *path) { return !program_is_instrumented(path); }
static bool is_unchecked(const char *path)
{
	return program_is_instrumented(path) && (program_has_plain(path) || unchecked_count(path));
}

/* Whether there are modules but ours, and none is instrumented. */
static bool all_are_plain(const struct image *self)
{
	bool any = false;

	for (u64 i = 0; i < self->modules.count; i++) {
		const char *path = self->modules.data[i].told.path;

		if (is_apart(path))
			continue;
		if (program_is_instrumented(path))
			return false;
		any = true;
	}
	return any;
}

/* What was not seen: accesses of modules without instrumentation, and of those of which the
 * compiler has left some out, or that have objects without instrumentation. */
static int note_unseen(struct image *self, struct err *err)
{
	u32 mode = load_relaxed(&self->berth.control->access);
	int status;

	if (!self->sink.note || (mode != HW_ACCESS_EXACT && mode != HW_ACCESS_ADAPTIVE))
		return 0;
	self->has_plain_accesses = all_are_plain(self);
	status = image_note_number(self, "access_plain", self->has_plain_accesses, err);
	if (status == 0)
		status = note_modules(self, "access_uninstrumented", is_plain, err);
	return status ? status : note_modules(self, "access_unchecked", is_unchecked, err);
}

int image_note_accesses(struct image *self, struct err *err)
{
	const struct hw_control *control = self->berth.control;
	const struct {
		const char *key;
		u64 number;
	} notes[] = {
		{"access_checked",
		 load_relaxed(&control->access_checked) - self->access_before.checked},
		{"access_heap", load_relaxed(&control->access_heap) - self->access_before.heap},
		{"access_epoch_ns", load_relaxed(&control->access_epoch_ns)},
		{"access_max", load_relaxed(&control->access_max)},
		{"access_merges", load_relaxed(&control->access_merges)},
		{"access_unknown", correlator_unknown_accesses(self->correlator)},
		{"access_damaged", self->damaged_accesses},
		{"type_unknown", correlator_unknown_types(self->correlator)},
	};
	int status = 0;

	for (u32 i = 0; i < sizeof(notes) / sizeof(notes[0]) && status == 0; i++)
		status = image_note_number(self, notes[i].key, notes[i].number, err);
	return status ? status : note_unseen(self, err);
}

void image_forget_accesses(struct image *self)
{
	const struct hw_control *control = self->berth.control;

	for (u64 i = 0; i < self->slots.count; i++)
		if (self->slots.data[i].gathers)
			memset(self->slots.data[i].gathers, 0,
			       2 * sizeof(*self->slots.data[i].gathers));
	self->damaged_accesses = 0;
	self->access_before.checked = load_relaxed(&control->access_checked);
	self->access_before.heap = load_relaxed(&control->access_heap);
}
