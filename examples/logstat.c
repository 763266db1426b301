/* SPDX-License-Identifier: MIT
 * An example to profile: a small web-log analyser. It makes up a log, reads it line by line, and
 * prints the busiest pages with their 95th percentile of response time.
 *
 * Its output is right and it looks harmless, but its memory use has three ordinary flaws, each of
 * which a section of `heapwise report` points at:
 *   leaks   page_find() copies the path before it knows whether it needs the copy
 *   churns  field_number() copies text only to read a number from it: gone before the next malloc
 *   wastes  page_new() reserves room for 2,048 samples per page, and the table of countries is
 *           filled at start although no line of this log needs it
 * Try: heapwise run -o logstat.hwt -- build/examples/logstat 20000
 *      heapwise report logstat.hwt */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGES = 120,
	BUCKETS = 64,
	SAMPLES_RESERVED = 2048,
	COUNTRIES = 4000,
	DEFAULT_LINES = 20000,
};

struct page {
	struct page *next;
	char *path;
	uint32_t *samples_us;
	size_t sample_count, sample_room;
	uint64_t bytes_sent;
};

struct line {
	char *method, *path;
	unsigned long status, bytes, took_us;
};

struct country {
	uint32_t first_address;
	char *name;
};

struct statistics {
	struct page *buckets[BUCKETS];
	struct country *countries;
	size_t page_count, bad_lines;
};

static void *must(void *memory)
{
	if (!memory) {
		fputs("logstat: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static uint32_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Writes line `number` of the made-up log; a few pages get most of the requests. */
static void log_line_make(char *text, size_t room, uint64_t *random)
{
	uint32_t r = random_next(random);
	uint32_t page = r % 4 ? r % 9 : random_next(random) % PAGES;

	if (r % 500 == 0) {
		snprintf(text, room, "- garbled -");
		return;
	}
	snprintf(text, room, "%s /shop/item/%03u %u %u %u", r % 7 ? "GET" : "POST", page,
		 r % 40 ? 200 : 404, 300 + r % 20000, 500 + random_next(random) % (100 * (page + 5)));
}

static char *field_copy(char **cursor)
{
	char *field = strsep(cursor, " ");

	return must(strdup(field ? field : ""));
}

static unsigned long field_number(char **cursor)
{
	char *digits = field_copy(cursor);
	unsigned long number = strtoul(digits, NULL, 10);

	free(digits);
	return number;
}

static void line_release(struct line *line)
{
	free(line->method);
	free(line->path);
}

static void line_parse(struct line *line, char *text)
{
	char *cursor = text;

	line->method = field_copy(&cursor);
	line->path = field_copy(&cursor);
	line->status = field_number(&cursor);
	line->bytes = field_number(&cursor);
	line->took_us = field_number(&cursor);
}

static size_t path_bucket(const char *path)
{
	size_t hash = 5381;

	while (*path)
		hash = hash * 33 + (unsigned char)*path++;
	return hash % BUCKETS;
}

static struct page *page_new(struct statistics *stats, char *path, size_t bucket)
{
	struct page *page = must(calloc(1, sizeof *page));

	page->path = path;
	page->sample_room = SAMPLES_RESERVED;
	page->samples_us = must(calloc(page->sample_room, sizeof *page->samples_us));
	page->next = stats->buckets[bucket];
	stats->buckets[bucket] = page;
	stats->page_count++;
	return page;
}

static struct page *page_find(struct statistics *stats, const char *path)
{
	char *key = must(strdup(path)); /* lost whenever the page is known already */
	size_t bucket = path_bucket(key);

	for (struct page *page = stats->buckets[bucket]; page; page = page->next)
		if (!strcmp(page->path, key))
			return page;
	return page_new(stats, key, bucket);
}

static void page_add(struct page *page, const struct line *line)
{
	if (page->sample_count == page->sample_room) {
		page->sample_room *= 2;
		page->samples_us = must(realloc(page->samples_us,
						page->sample_room * sizeof *page->samples_us));
	}
	page->samples_us[page->sample_count++] = (uint32_t)line->took_us;
	page->bytes_sent += line->bytes;
}

static void countries_load(struct statistics *stats)
{
	char name[32];

	stats->countries = must(malloc(COUNTRIES * sizeof *stats->countries));
	for (uint32_t i = 0; i < COUNTRIES; i++) {
		snprintf(name, sizeof name, "region-%u", i);
		stats->countries[i] = (struct country){i << 20, must(strdup(name))};
	}
}

static void countries_release(struct statistics *stats)
{
	for (uint32_t i = 0; i < COUNTRIES; i++)
		free(stats->countries[i].name);
	free(stats->countries);
}

static int compare_samples(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int compare_pages(const void *a, const void *b)
{
	const struct page *x = *(struct page *const *)a, *y = *(struct page *const *)b;

	return (x->sample_count < y->sample_count) - (x->sample_count > y->sample_count);
}

static void print_busiest(const struct statistics *stats, size_t limit)
{
	struct page **pages = must(malloc((stats->page_count + 1) * sizeof *pages));
	size_t count = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct page *page = stats->buckets[i]; page; page = page->next)
			pages[count++] = page;
	qsort(pages, count, sizeof *pages, compare_pages);
	printf("%-18s %9s %12s %10s\n", "page", "requests", "bytes", "p95");
	for (size_t i = 0; i < count && i < limit; i++) {
		struct page *page = pages[i];

		qsort(page->samples_us, page->sample_count, sizeof *page->samples_us,
		      compare_samples);
		printf("%-18s %9zu %12llu %7.2f ms\n", page->path, page->sample_count,
		       (unsigned long long)page->bytes_sent,
		       page->samples_us[page->sample_count * 95 / 100] / 1e3);
	}
	free(pages);
}

static void pages_release(struct statistics *stats)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct page *next;

		for (struct page *page = stats->buckets[i]; page; page = next) {
			next = page->next;
			free(page->samples_us);
			free(page->path);
			free(page);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long lines = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_LINES;
	struct statistics stats = {0};
	uint64_t random = 42;
	char text[128];

	countries_load(&stats);
	for (unsigned long i = 0; i < lines; i++) {
		struct line line = {0};

		log_line_make(text, sizeof text, &random);
		line_parse(&line, text);
		if (*line.method == '-')
			stats.bad_lines++;
		else
			page_add(page_find(&stats, line.path), &line);
		line_release(&line);
	}
	printf("%lu lines, %zu pages, %zu garbled\n", lines, stats.page_count, stats.bad_lines);
	print_busiest(&stats, 5);
	pages_release(&stats);
	countries_release(&stats);
	return 0;
}
