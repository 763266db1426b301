// SPDX-License-Identifier: MIT
// verdict: kind=misuse function=cache_drop calls=1 status=134
// An LRU cache of files: a file that was closed by its user is dropped from the cache as well, late in the run. The C library aborts.
#include "noise.h"

enum { FILES = 64, TURNS = 8000, FAULT = 7600 };

struct file {
	unsigned id, used;
	char *text;
};

static struct file *cache[FILES];

APART static struct file *file_open(unsigned id)
{
	struct file *file = malloc(sizeof *file);

	file->id = id;
	file->used = id;
	file->text = malloc(500 + id % 100);
	memset(file->text, 'f', 500 + id % 100);
	return file;
}

APART static void file_close(struct file *file)
{
	noise_last = file->text;
	free(noise_last);
}

APART static void cache_drop(unsigned at)
{
	noise_last = cache[at]->text;
	free(noise_last); /* the flaw: it may have been closed */
	free(cache[at]);
	cache[at] = NULL;
}

static unsigned oldest(void)
{
	unsigned best = 0;

	for (unsigned i = 1; i < FILES; i++)
		if (!cache[i] || (cache[best] && cache[i]->used < cache[best]->used))
			best = i;
	return best;
}

int main(void)
{
	noise_start();
	for (unsigned i = 0; i < TURNS; i++) {
		unsigned at = oldest();

		noise_turn(i);
		if (i == FAULT)
			file_close(cache[at]);
		if (cache[at])
			cache_drop(at);
		cache[at] = file_open(i);
	}
	noise_end();
	return 0;
}
