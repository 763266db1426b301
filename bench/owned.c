/* SPDX-License-Identifier: MIT
 * owned CHUNKS: a heap of about that many chunks with three pointers each, for `heapwise run --owners`: a hash table with
 * chains and text, a tree with its parents, lists in both directions, and arrays of pointers, which grow side by side in
 * random order. At the end all of it is live. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS = 1000, PAGE_ITEMS = 62 };

struct value {
	struct entry *entry;
	double numbers[3];
};

struct entry {
	struct entry *next;
	char *key;
	struct value *value;
	uint64_t hash;
};

struct table {
	struct entry **buckets;
	uint64_t mask, count;
};

struct branch {
	struct branch *left, *right, *parent;
	uint64_t key;
	struct value *value;
};

struct item {
	struct item *next, *previous;
	struct page *page;
	long number;
};

struct list {
	struct item *first, *last;
	long count;
};

struct page {
	struct page *next;
	long count;
	struct item *items[PAGE_ITEMS];
};

static struct table table;
static struct branch *tree;
static struct list lists[LISTS];
static struct page *pages;
static uint64_t state = 88172645463325252u, chunks;

static uint64_t random_next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void *get(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		exit(1);
	chunks++;
	return memory;
}

static struct value *new_value(struct entry *entry)
{
	struct value *value = get(sizeof *value);

	value->entry = entry;
	value->numbers[0] = (double)chunks;
	return value;
}

static void add_entry(void)
{
	struct entry *entry = get(sizeof *entry), **bucket;

	entry->hash = random_next();
	entry->key = get(24);
	snprintf(entry->key, 24, "key %llu", (unsigned long long)(entry->hash % 1000000000));
	entry->value = new_value(entry);
	bucket = &table.buckets[entry->hash & table.mask];
	entry->next = *bucket;
	*bucket = entry;
	table.count++;
}

static void add_branch(struct entry *entry)
{
	struct branch **place = &tree, *parent = NULL, *branch = get(sizeof *branch);

	branch->key = random_next();
	branch->value = new_value(entry);
	while (*place) {
		parent = *place;
		place = branch->key < parent->key ? &parent->left : &parent->right;
	}
	branch->parent = parent;
	*place = branch;
}

static void add_item(void)
{
	struct list *list = &lists[random_next() % LISTS];
	struct item *item = get(sizeof *item);

	if (!pages || pages->count == PAGE_ITEMS) {
		struct page *page = get(sizeof *page);

		page->next = pages;
		pages = page;
	}
	item->page = pages;
	pages->items[pages->count++] = item;
	item->previous = list->last;
	*(list->last ? &list->last->next : &list->first) = item;
	list->last = item;
	item->number = list->count++;
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000, size = 1024;

	while (size < wanted / 8)
		size *= 2;
	table.mask = size - 1;
	table.buckets = get(size * sizeof *table.buckets);
	while (chunks < wanted) {
		uint64_t pick = random_next() % 8;

		if (pick < 2)
			add_entry();
		else if (pick < 4)
			add_branch(table.buckets[random_next() & table.mask]);
		else
			add_item();
	}
	printf("%llu chunks\n", (unsigned long long)chunks);
	return 0;
}
