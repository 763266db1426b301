/* SPDX-License-Identifier: MIT
 * See expect.h. Runs inside target programs. Never allocates. */
#define _GNU_SOURCE
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 8 << 20 };

/* Two allocations of these sizes frame what is compared; neither is 5 above a multiple of 16. */
enum { BEGIN_BYTES = 1000003, END_BYTES = 1000006 };

static char *lines;
static uint64_t used;

struct text {
	char bytes[96];
	size_t length;
};

static void text_word(struct text *text, const char *word)
{
	while (*word && text->length < sizeof text->bytes - 1)
		text->bytes[text->length++] = *word++;
}

static void text_number(struct text *text, uint64_t value, unsigned base)
{
	char digits[24];
	size_t count = 0;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (count > 0 && text->length < sizeof text->bytes - 1)
		text->bytes[text->length++] = digits[--count];
}

/* Whole lines only, also when a signal handler interrupts another line. */
static void text_put(struct text *text)
{
	uint64_t place;

	text_word(text, "\n");
	place = __atomic_fetch_add(&used, text->length, __ATOMIC_RELAXED);
	if (lines && place + text->length <= ROOM)
		memcpy(lines + place, text->bytes, text->length);
}

static void say_event(const char *kind, const void *memory, size_t size)
{
	struct text text = {.length = 0};

	text_word(&text, kind);
	text_word(&text, " 0x");
	text_number(&text, (uintptr_t)memory, 16);
	text_word(&text, " ");
	text_number(&text, size, 10);
	text_put(&text);
}

static void lines_open(void)
{
	const char *path = getenv("HEAPWISE_EXPECT");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	if (ftruncate(fd, ROOM) == 0) {
		lines = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (lines == MAP_FAILED)
			lines = NULL;
	}
	close(fd);
}

static void frame(size_t size)
{
	void *volatile memory = malloc(size);

	free(memory);
}

void expect_begin(void)
{
	static int begun;

	if (begun)
		return;
	begun = 1;
	lines_open();
	frame(BEGIN_BYTES);
}

void expect_end(void) { frame(END_BYTES); }

void *expect_alloc(const char *kind, void *memory, size_t size)
{
	int saved = errno;

	if (memory)
		say_event(kind, memory, size);
	errno = saved;
	return memory;
}

void expect_free(const char *kind, const void *memory, size_t size)
{
	int saved = errno;

	if (memory)
		say_event(kind, memory, size);
	errno = saved;
}

void *expect_realloc(const void *old, size_t old_size, void *memory, size_t size)
{
	if (memory && old)
		expect_free("realloc_free", old, old_size);
	return expect_alloc("realloc", memory, size);
}

void expect_true(int held, const char *what)
{
	struct text text = {.length = 0};
	ssize_t ignored;

	if (held)
		return;
	text_word(&text, "target: ");
	text_word(&text, what);
	text_word(&text, "\n");
	ignored = write(2, text.bytes, text.length);
	(void)ignored;
	_exit(99);
}

void expect_total(const char *name, uint64_t value)
{
	struct text text = {.length = 0};

	text_word(&text, "total ");
	text_word(&text, name);
	text_word(&text, " ");
	text_number(&text, value, 10);
	text_put(&text);
}
