/* SPDX-License-Identifier: MIT
 * Reads the log of modules that the recorder saw come and go, and tells them. Runs on the drain
 * thread. Never believes a length that leads out of the log. */
#include "live/drain/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "format/runtime.h"
#include "host/trace/modmap.h"

int modlog_tell_again(struct image *self, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < self->modules.count && status == 0; i++)
		status = stream_tell(&self->sink, module, &self->modules.data[i].told, err);
	for (u64 i = 0; i < self->codes.count && status == 0; i++)
		status = stream_tell(&self->sink, name, &self->codes.data[i], err);
	return status;
}

void modlog_release(struct image *self)
{
	arena_release(&self->texts);
	vec_release(&self->modules);
	vec_release(&self->codes);
}

/* Up to its end, or so many bytes; NULL without memory. */
static const char *text_keep(struct image *self, const char *text, u64 most)
{
	return arena_copy_text(&self->texts, text, strnlen(text, most));
}

static int module_loaded(struct image *self, const struct hw_module_note *note, const u8 *rest,
			 struct err *err)
{
	const char *path = (const char *)rest + note->build_id_bytes;
	u8 *build_id = arena_alloc(&self->texts, note->build_id_bytes);
	struct image_module module = {
		.told =
			{
				.id = (u32)self->modules.count,
				.generation = note->generation,
				.base = note->base,
				.start = note->start,
				.end = note->end,
				.loaded_ticks = note->ticks,
				/* An empty path is the program itself. */
				.path = note->path_bytes ? text_keep(self, path, note->path_bytes)
							 : self->program,
				.build_id = build_id,
				.build_id_bytes = note->build_id_bytes,
			},
		.prepared = PREPARE_NO_MODULE,
	};

	if (!module.told.path || !build_id || !vec_push(&self->modules, module))
		return err_memory_for(err, "modules");
	memcpy(build_id, rest, note->build_id_bytes);
	if (note->what == HW_MODULE_LOADED)
		self->modules.data[module.told.id].prepared =
			prepare_module(self->prepare,
				       &(struct symbolizer_module){
					       .path = module.told.path,
					       .build_id = build_id,
					       .build_id_bytes = note->build_id_bytes,
					       .arch = load_relaxed(&self->berth.control->arch),
				       });
	return stream_tell(&self->sink, module, &module.told, err);
}

/* The module that is there now; *last is where the one before was. NULL: none, or one that is not
 * prepared. */
static const struct image_module *module_at(const struct image *self, u64 address, u64 *last)
{
	for (u64 i = 0; i < self->modules.count; i++) {
		u64 at = (*last + i) % self->modules.count;
		const struct image_module *module = &self->modules.data[at];

		if (address < module->told.start || address >= module->told.end ||
		    module->told.unloaded_ticks)
			continue;
		*last = at;
		return module->prepared == PREPARE_NO_MODULE ? NULL : module;
	}
	return NULL;
}

void modlog_prepare(struct image *self, const struct stream_context *contexts, u64 count)
{
	u64 last = 0;

	for (u64 i = 0; i < count && self->prepares; i++) {
		u64 address = contexts[i].pc - 1; /* of the call, not of what comes after it */
		const struct image_module *module = context_is_frame(&contexts[i]) && contexts[i].pc
							    ? module_at(self, address, &last)
							    : NULL;

		if (module)
			self->prepares = prepare_addresses(
				self->prepare,
				&(struct prepare_address){module->prepared,
							  address - module->told.base},
				1);
	}
}

static int module_unloaded(struct image *self, const struct hw_module_note *note, struct err *err)
{
	for (u64 i = self->modules.count; i-- > 0;) {
		struct image_module *module = &self->modules.data[i];

		if (module->told.unloaded_ticks || module->told.base != note->base ||
		    module->told.start != note->start)
			continue;
		module->told.unloaded_ticks = note->ticks ? note->ticks : 1;
		return stream_tell(&self->sink, module, &module->told, err);
	}
	self->damaged++;
	return 0;
}

static int code_named(struct image *self, const struct hw_module_note *note, const u8 *rest,
		      struct err *err)
{
	struct stream_name code = {.id = HW_NAMES + (u32)note->base};

	if (note->base >= HW_CODES || self->codes.count >= 2 * HW_CODES) {
		self->damaged++;
		return 0;
	}
	code.text = text_keep(self, (const char *)rest + note->build_id_bytes, note->path_bytes);
	if (!code.text || !vec_push(&self->codes, code))
		return err_memory_for(err, "names of functions");
	return stream_tell(&self->sink, name, &code, err);
}

static int note_tell(struct image *self, const struct hw_module_note *note, const u8 *rest,
		     struct err *err)
{
	if (note->what == HW_MODULE_LOADED || note->what == HW_MODULE_LISTED)
		return module_loaded(self, note, rest, err);
	if (note->what == HW_MODULE_UNLOADED)
		return module_unloaded(self, note, err);
	if (note->what == HW_CODE_NAMED)
		return code_named(self, note, rest, err);
	if (note->what == HW_RUNTIME_SAYS) {
		snprintf(self->runtime_says, sizeof(self->runtime_says), "%.*s",
			 (int)(note->path_bytes < sizeof(self->runtime_says)
				       ? note->path_bytes
				       : sizeof(self->runtime_says) - 1),
			 (const char *)rest + note->build_id_bytes);
		return 0;
	}
	if (note->what == HW_IMAGE_PROGRAM || note->what == HW_IMAGE_COMMAND)
		return 0; /* modlog_text has read them when the image began */
	self->damaged++;
	return 0;
}

static bool note_is_sound(const struct hw_module_note *note, u64 room)
{
	u64 needed = sizeof(*note) + (u64)note->build_id_bytes + note->path_bytes;

	return note->size % 8 == 0 && note->size <= room && needed <= note->size;
}

void modlog_text(const struct berth *berth, u16 what, struct strbuf *text)
{
	u64 bytes = berth->layout.modules_bytes, at = 0;
	u64 head = load_acquire(&berth->control->modules_head); /* as in modlog_read */
	struct hw_module_note note;

	for (u32 i = 0; i < 2 && head <= bytes && at + sizeof(note) <= head; i++) {
		memcpy(&note, berth_modules(berth) + at, sizeof(note));
		if (!note.size || !note_is_sound(&note, head - at))
			return;
		if (note.what == what)
			strbuf_add_bytes(text,
					 (const char *)berth_modules(berth) + at + sizeof(note),
					 note.path_bytes);
		at += note.size;
	}
}

int modlog_read(struct image *self, struct err *err)
{
	struct hw_control *control = self->berth.control;
	u64 bytes = self->berth.layout.modules_bytes;
	u64 tail = load_relaxed(&control->modules_tail);
	/* Acquire: pairs with the recorder's release, notes below the head are whole. */
	u64 head = load_acquire(&control->modules_head);
	const u8 *log = berth_modules(&self->berth);
	int status = 0;

	while (tail != head && status == 0) {
		u64 at = tail & (bytes - 1);
		u64 room = bytes - at < head - tail ? bytes - at : head - tail;
		struct hw_module_note note = {0};

		memcpy(&note, log + at, room < sizeof(note) ? room : sizeof(note));
		if (note.size == 0 && head - tail >= bytes - at && head - tail <= bytes) {
			tail += bytes - at;
			continue;
		}
		if (head - tail > bytes || !note_is_sound(&note, room)) {
			self->damaged++;
			tail = head;
			break;
		}
		status = note_tell(self, &note, log + at + sizeof(note), err);
		tail += note.size;
	}
	store_release(&control->modules_tail, tail);
	return status;
}
