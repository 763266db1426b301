/* SPDX-License-Identifier: MIT
 * Caches of threads as tables; see thread_caches.h.
 * Host. */
#include "study/analysis/resident/thread_caches.h"

#include "host/base/order.h"
#include "host/base/units.h"
#include "study/analysis/places/allocator.h"
#include "study/result/field.h"

struct cache_row {
	u32 tid, size; /* size 0 = all */
	u64 blocks, bytes;
};

struct cache_list {
	struct cache_row *data;
	u64 count, capacity;
};

static int by_thread(const void *a, const void *b)
{
	const struct cache_row *x = a, *y = b;

	return rising(x->tid, y->tid) ?: rising(x->size, y->size);
}

static int by_bytes(const void *a, const void *b)
{
	const struct cache_row *x = a, *y = b;

	return falling(x->bytes, y->bytes) ?: by_thread(a, b);
}

static bool list_rows(const struct bill *bill, bool sizes, struct cache_list *list)
{
	u64 kept = 0;

	for (u64 i = 0; i < bill->caches.blocks.count; i++) {
		const struct cache_block *block = &bill->caches.blocks.data[i];

		if (!vec_push(list, ((struct cache_row){block->tid, sizes ? block->bytes : 0, 1,
							block->bytes})))
			return false;
	}
	vec_sort(list, by_thread);
	for (u64 i = 0; i < list->count; i++) {
		struct cache_row *last = kept ? &list->data[kept - 1] : NULL;

		if (last && by_thread(last, &list->data[i]) == 0) {
			last->blocks++;
			last->bytes += list->data[i].bytes;
		} else {
			list->data[kept++] = list->data[i];
		}
	}
	list->count = kept;
	return true;
}

/* Numbers of threads come again: the last one that had begun by then. */
static const char *name_of(const struct bill *bill, u32 tid)
{
	const struct model *model = bill->model;
	const char *name = "";

	for (u64 i = 0; i < model->threads.count; i++)
		if (model->threads.data[i].tid == tid &&
		    (!*name || model->threads.data[i].start_ticks <= bill->memory->ticks))
			name = model->threads.data[i].name;
	return name;
}

struct result *thread_caches_table(const struct bill *bill, u64 top, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("tid", "thread", VALUE_ID, "the thread that the blocks are kept for"),
		COLUMN("name", "name", VALUE_TEXT, "its name"),
		COLUMN("blocks", "blocks", VALUE_COUNT, "free blocks in its cache"),
		COLUMN("bytes", "bytes", VALUE_BYTES, "of these, headers included"),
		COLUMN("usable_bytes", NULL, VALUE_BYTES, "of these, without headers"),
	};
	struct result *table = result_table("thread_caches", "Thread caches", columns);
	struct cache_list list = {0};
	bool good = table && list_rows(bill, false, &list);
	u64 shown = 0;

	vec_sort(&list, by_bytes);
	for (; good && shown < result_top(list.count, top); shown++) {
		const struct cache_row *row = &list.data[shown];

		result_row(table, value_number(row->tid), value_text(name_of(bill, row->tid)),
			   value_number(row->blocks), value_number(row->bytes),
			   value_number(row->bytes - row->blocks * CACHES_HEAD));
	}
	if (table) {
		table->hidden_in_text = !list.count;
		result_add_more(table, list.count, shown);
	}
	vec_release(&list);
	return result_made_if(good, table, err, "the thread caches");
}

struct result *thread_cache_sizes_table(const struct bill *bill, u64 top, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("tid", "thread", VALUE_ID, "the thread that the blocks are kept for"),
		COLUMN("size", "size", VALUE_BYTES, "of each block, header included"),
		COLUMN("blocks", "blocks", VALUE_COUNT, "free blocks of this size in its cache"),
		COLUMN("bytes", "bytes", VALUE_BYTES, "of these, headers included"),
	};
	struct result *table = result_table("thread_cache_sizes", "Thread caches by size", columns);
	struct cache_list list = {0};
	bool good = table && list_rows(bill, true, &list);
	u64 shown = 0;

	vec_sort(&list, by_bytes);
	for (; good && shown < result_top(list.count, top); shown++) {
		const struct cache_row *row = &list.data[shown];

		result_row(table, value_number(row->tid), value_number(row->size),
			   value_number(row->blocks), value_number(row->bytes));
	}
	if (table) {
		table->hidden_in_text = true;
		result_add_more(table, list.count, shown);
	}
	vec_release(&list);
	return result_made_if(good, table, err, "the thread caches");
}

void thread_caches_say(struct result *result, const struct bill *bill)
{
	u32 read = bill->memory->caches_read, unread = bill->memory->caches_unread;

	result_field(result, "caches.read_threads", NULL, VALUE_COUNT, value_number(read),
		     "threads whose cache was read; only glibc's are");
	result_field(result, "caches.unread_threads", NULL, VALUE_COUNT, value_number(unread),
		     "threads whose cache could not be read; its blocks count as pinned or cached");
	if (!allocator_is_glibc(bill->model))
		return;
	if (!read)
		result_add_caveat(result, "thread caches were not read; their blocks count as "
					  "pinned or cached");
	else if (unread)
		result_add_caveat(result,
				  "the caches of %s could not be read; their blocks count as "
				  "pinned or cached",
				  units_things(unread, "thread(s)").text);
}
