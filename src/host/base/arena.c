/* SPDX-License-Identifier: MIT
 * Arena: a list of blocks that double in size, carved from front to back. Runs on the host. Never
 * frees a single piece. */
#include "host/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *older;
	u64 bytes;
	_Alignas(16) u8 data[];
};

enum { ARENA_ALIGN = 16, ARENA_FIRST = 4096 - 64, ARENA_LARGEST = 1 << 20 };

static u64 block_bytes(const struct arena *arena, u64 wanted)
{
	u64 bytes = arena->blocks ? arena->blocks->bytes * 2 : ARENA_FIRST;

	if (bytes > ARENA_LARGEST)
		bytes = ARENA_LARGEST;
	return bytes > wanted ? bytes : wanted;
}

/* A block of its own for a large piece goes behind the newest, whose free part stays in use. */
static void *add_block(struct arena *arena, u64 wanted)
{
	u64 bytes = block_bytes(arena, wanted);
	struct arena_block *block;

	if (bytes > PTRDIFF_MAX - sizeof(*block))
		return NULL;
	block = calloc(1, sizeof(*block) + bytes);
	if (!block)
		return NULL;
	block->bytes = bytes;
	if (bytes == wanted && arena->blocks) {
		block->older = arena->blocks->older;
		arena->blocks->older = block;
		return block->data;
	}
	block->older = arena->blocks;
	arena->blocks = block;
	arena->next = block->data + wanted;
	arena->end = block->data + bytes;
	return block->data;
}

void *arena_alloc(struct arena *arena, u64 bytes)
{
	u64 rounded = (bytes + ARENA_ALIGN - 1) & ~(u64)(ARENA_ALIGN - 1);
	void *piece;

	if (rounded < bytes)
		return NULL;
	if (rounded == 0)
		rounded = ARENA_ALIGN;
	if (arena->blocks && (u64)(arena->end - arena->next) >= rounded) {
		piece = arena->next;
		arena->next += rounded;
	} else {
		piece = add_block(arena, rounded);
	}
	if (piece)
		arena->bytes += rounded;
	return piece;
}

void *arena_alloc_array(struct arena *arena, u64 count, u64 size)
{
	u64 bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return arena_alloc(arena, bytes);
}

char *arena_copy_text(struct arena *arena, const char *text, u64 bytes)
{
	char *copy = bytes < UINT64_MAX ? arena_alloc(arena, bytes + 1) : NULL;

	if (copy && bytes)
		memcpy(copy, text, bytes);
	return copy;
}

char *arena_copy(struct arena *arena, const char *text)
{
	return text ? arena_copy_text(arena, text, strlen(text)) : NULL;
}

char *arena_vformat(struct arena *arena, const char *format, va_list arguments)
{
	va_list again;
	char *text;
	int bytes;

	va_copy(again, arguments);
	bytes = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = bytes < 0 ? NULL : arena_alloc(arena, (u64)bytes + 1);
	if (text)
		vsnprintf(text, (u64)bytes + 1, format, arguments);
	return text;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = arena_vformat(arena, format, arguments);
	va_end(arguments);
	return text;
}

void arena_adopt(struct arena *arena, struct arena *other)
{
	struct arena_block **last = &other->blocks;

	if (!arena->blocks) {
		*arena = *other;
	} else {
		while (*last)
			last = &(*last)->older;
		*last = arena->blocks->older;
		arena->blocks->older = other->blocks;
		arena->bytes += other->bytes;
	}
	*other = (struct arena){0};
}

void arena_release(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	while (block) {
		struct arena_block *older = block->older;

		free(block);
		block = older;
	}
	*arena = (struct arena){0};
}
