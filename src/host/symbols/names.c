/* SPDX-License-Identifier: MIT
 * A hash table of strings with their demangled forms.
 * Runs on the host. Never fails loudly: a name that finds no memory becomes "". */
#include "host/symbols/names.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/map.h"
#include "host/symbols/demangle.h"

static u64 hash_bytes(const char *text, u64 bytes)
{
	u64 hash = bytes + 1;

	for (; bytes >= 8; text += 8, bytes -= 8) {
		u64 word;

		memcpy(&word, text, 8);
		hash = hash_u64(hash ^ word) + word;
	}
	for (; bytes; text++, bytes--)
		hash = hash_u64(hash ^ (u8)*text);
	return hash_u64(hash);
}

static bool names_grow(struct names *self)
{
	u64 capacity = self->capacity ? self->capacity * 2 : 1024;
	struct name *table = calloc(capacity, sizeof(*table));

	if (!table)
		return false;
	for (u64 i = 0; i < self->capacity; i++) {
		u64 place = self->table[i].hash & (capacity - 1);

		if (!self->table[i].text)
			continue;
		while (table[place].text)
			place = (place + 1) & (capacity - 1);
		table[place] = self->table[i];
	}
	free(self->table);
	self->table = table;
	self->capacity = capacity;
	return true;
}

static bool name_is(const struct name *name, u64 hash, const char *text, u64 bytes)
{
	return name->hash == hash && !strncmp(name->text, text, bytes) && !name->text[bytes];
}

/* The entry of text, made if it is new; NULL if memory is short. Valid until the next call. */
static struct name *names_at(struct names *self, const char *text, u64 bytes)
{
	u64 hash = hash_bytes(text, bytes);
	u64 place;

	if (self->used * 4 >= self->capacity * 3 && !names_grow(self))
		return NULL;
	for (place = hash & (self->capacity - 1); self->table[place].text;
	     place = (place + 1) & (self->capacity - 1))
		if (name_is(&self->table[place], hash, text, bytes))
			return &self->table[place];
	self->table[place].text = arena_copy_text(&self->arena, text, bytes);
	if (!self->table[place].text)
		return NULL;
	self->table[place].hash = hash;
	self->used++;
	return &self->table[place];
}

const char *names_keep_bytes(struct names *self, const char *text, u64 bytes)
{
	const struct name *name = bytes ? names_at(self, text, strnlen(text, bytes)) : NULL;

	return name ? name->text : "";
}

const char *names_keep(struct names *self, const char *text)
{
	return text ? names_keep_bytes(self, text, strlen(text)) : "";
}

const char *names_readable(struct names *self, const char *linker_name)
{
	u64 bytes = linker_name ? strlen(linker_name) : 0;
	struct name *name = bytes ? names_at(self, linker_name, bytes) : NULL;
	const char *kept, *readable;
	char *text;

	if (!name)
		return "";
	if (name->readable)
		return name->readable;
	kept = name->text;
	text = demangle(kept);
	readable = text ? names_keep(self, text) : kept;
	free(text);
	/* Keeping the readable form may have moved the table. */
	name = names_at(self, linker_name, bytes);
	if (name)
		name->readable = readable;
	return readable;
}

void names_release(struct names *self)
{
	free(self->table);
	arena_release(&self->arena);
	*self = (struct names){0};
}
