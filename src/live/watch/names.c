/* SPDX-License-Identifier: MIT
 * Names of frames; see watch_names.h. Host. */
#define _GNU_SOURCE
#include "live/watch/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/text.h"

static const char *file_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static void name_free(struct watch_name *name)
{
	if (!name)
		return;
	free(name->text);
	free(name->function);
	free(name->file);
	free(name);
}

static bool name_fill(struct watch_name *name, const struct symbol_frame *found,
		      const struct watch_frame *frame)
{
	name->function = strdup(found->function);
	name->file = found->file && found->file[0] ? strdup(found->file) : NULL;
	name->line = found->line;
	return asprintf(&name->text, found->line ? "%s (%s:%u)" : "%s (%s)", found->function,
			found->line ? file_of(found->file) : file_of(frame->module),
			found->line) >= 0;
}

/* The symbolizer's number of the frame's module; false if it is not known. */
static bool module_find(struct watch_names *self, const struct watch_frame *frame, u32 *module)
{
	struct symbolizer_module description = {.path = frame->module};
	struct err err = {0};

	if (frame->module[0] && !self->symbolizer)
		self->symbolizer = symbolizer_new(NULL, &err);
	return frame->module[0] && self->symbolizer &&
	       symbolizer_add(self->symbolizer, &description, module, &err) == 0;
}

static struct watch_name *name_make(struct watch_names *self, const struct watch_frame *frame)
{
	struct symbolizer_answer answer = {0};
	struct symbolizer_query query = {0, &frame->offset, 1, &answer};
	struct watch_name *name = calloc(1, sizeof(*name));
	struct err err = {0};
	bool made;

	if (!name)
		return NULL;
	if (module_find(self, frame, &query.module) &&
	    symbolizer_resolve(self->symbolizer, &query, &err) == 0 && answer.frame_count &&
	    answer.frames[0].function && answer.frames[0].function[0])
		made = name_fill(name, &answer.frames[0], frame);
	else
		made = asprintf(&name->text, "%s+0x%llx",
				frame->module[0] ? file_of(frame->module) : "?",
				(unsigned long long)(frame->module[0] ? frame->offset
								      : frame->pc)) >= 0;
	if (made) {
		text_clean(name->text);
		return name;
	}
	name->text = NULL;
	name_free(name);
	return NULL;
}

const struct watch_name *watch_names_look(struct watch_names *self, const struct watch_frame *frame)
{
	u64 key = hash_text(HASH_START, frame->module) ^
		  hash_u64(frame->module[0] ? frame->offset : frame->pc);
	u64 *place = map_at(&self->known, key);

	if (place && !*place)
		*place = (u64)name_make(self, frame);
	return place ? (const struct watch_name *)*place : NULL;
}

const char *watch_names_find(struct watch_names *self, const struct watch_frame *frame)
{
	const struct watch_name *name = watch_names_look(self, frame);

	return name ? name->text : "?";
}

static struct watch_name *type_make(struct watch_names *self, const struct watch_frame *at)
{
	struct watch_name *name = calloc(1, sizeof(*name));
	const char *type = NULL;
	struct err err = {0};
	u32 module;

	if (!name)
		return NULL;
	if (!module_find(self, at, &module) ||
	    symbolizer_type(self->symbolizer, module, at->offset, &type, &err) < 0 || !type)
		type = "?";
	name->text = strdup(type);
	if (name->text)
		text_clean(name->text);
	return name;
}

const char *watch_names_type(struct watch_names *self, const struct watch_frame *at)
{
	u64 key = hash_text(HASH_START, at->module) ^ hash_u64(~at->offset);
	u64 *place = map_at(&self->known, key);
	const struct watch_name *name;

	if (place && !*place)
		*place = (u64)type_make(self, at);
	name = place ? (const struct watch_name *)*place : NULL;
	return name && name->text ? name->text : "?";
}

void watch_names_release(struct watch_names *self)
{
	for (u64 at = 0, key, value; map_next(&self->known, &at, &key, &value);)
		name_free((struct watch_name *)value);
	map_release(&self->known);
	symbolizer_free(self->symbolizer);
}
