/* SPDX-License-Identifier: MIT
 * A cache of answers; see answer_cache.h. Runs on threads of the server. */
#include "show/serve/answer_cache.h"

#include <stdlib.h>
#include <string.h>

struct cache_entry {
	struct cache_entry *newer, *older; /* by use */
	char tag[48];
	const char *type; /* a literal */
	size_t bytes;
	char body[];
};

void answer_cache_init(struct answer_cache *self) { pthread_mutex_init(&self->lock, NULL); }

static u64 key_of(const char *tag) { return hash_text(HASH_START, tag); }

static struct cache_entry *entry_find(struct answer_cache *self, const char *tag)
{
	const u64 *found = map_find(&self->by_tag, key_of(tag));
	struct cache_entry *entry = found ? (struct cache_entry *)(uintptr_t)*found : NULL;

	return entry && strcmp(entry->tag, tag) == 0 ? entry : NULL;
}

static void use_remove(struct answer_cache *self, struct cache_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &self->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &self->oldest) = entry->newer;
}

static void use_add(struct answer_cache *self, struct cache_entry *entry)
{
	entry->newer = NULL;
	entry->older = self->newest;
	*(self->newest ? &self->newest->newer : &self->oldest) = entry;
	self->newest = entry;
}

static void entry_drop(struct answer_cache *self, struct cache_entry *entry)
{
	map_remove(&self->by_tag, key_of(entry->tag), NULL);
	use_remove(self, entry);
	self->bytes -= entry->bytes;
	free(entry);
}

void answer_cache_release(struct answer_cache *self)
{
	while (self->oldest)
		entry_drop(self, self->oldest);
	map_release(&self->by_tag);
	pthread_mutex_destroy(&self->lock);
}

bool answer_cache_find(struct answer_cache *self, struct answer *answer)
{
	struct cache_entry *entry;
	char *body = NULL;

	pthread_mutex_lock(&self->lock);
	entry = entry_find(self, answer->tag);
	if (entry)
		body = malloc(entry->bytes + 1);
	if (body) {
		memcpy(body, entry->body, entry->bytes + 1);
		answer->status = 200;
		answer->body = body;
		answer->body_bytes = entry->bytes;
		answer->type = entry->type;
		use_remove(self, entry);
		use_add(self, entry);
	}
	pthread_mutex_unlock(&self->lock);
	return body != NULL;
}

void answer_cache_keep(struct answer_cache *self, const struct answer *answer)
{
	struct cache_entry *entry;

	if (answer->status != 200 || !answer->tag[0] || !answer->body || answer->gzip ||
	    answer->body_bytes > CACHE_ANSWER_BYTES)
		return;
	entry = malloc(sizeof *entry + answer->body_bytes + 1);
	if (!entry)
		return;
	*entry = (struct cache_entry){.type = answer->type, .bytes = answer->body_bytes};
	memcpy(entry->tag, answer->tag, sizeof entry->tag);
	memcpy(entry->body, answer->body, answer->body_bytes);
	entry->body[entry->bytes] = 0;
	pthread_mutex_lock(&self->lock);
	if (map_find(&self->by_tag, key_of(entry->tag)) || /* another thread was faster */
	    !map_put(&self->by_tag, key_of(entry->tag), (u64)(uintptr_t)entry)) {
		free(entry);
	} else {
		use_add(self, entry);
		self->bytes += entry->bytes;
		while (self->bytes > CACHE_BYTES && self->oldest != entry)
			entry_drop(self, self->oldest);
	}
	pthread_mutex_unlock(&self->lock);
}
