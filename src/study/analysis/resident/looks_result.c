/* SPDX-License-Identifier: MIT
 * The parts of resident memory at all looks, as a table; see looks.h.
 * Host. */
#include "study/analysis/resident/looks.h"

#include "study/result/field.h"

static u64 others(const struct resident_account *account)
{
	return account->bytes[PART_MAPPINGS] + account->bytes[PART_FILES] +
	       account->bytes[PART_CODE] + account->bytes[PART_STACKS];
}

static const char *kind_word(const struct resident_look *look)
{
	static const char *const words[] = {"periodic", "mark", "snapshot", "end"};

	return words[look->kind];
}

static struct value mark_word(struct result *table, const struct model_mark *mark)
{
	if (!mark)
		return value_unknown();
	return *mark->name ? result_text(table, mark->name) : value_text(hw_mark_word(mark->kind));
}

struct result *resident_looks_result(const struct model *model, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("time_ns", "time", VALUE_NS, "time of the look"),
		COLUMN("kind", "look", VALUE_TEXT,
		       "why Heapwise looked: periodic, mark, snapshot or end"),
		COLUMN("mark", "mark", VALUE_TEXT, "the mark just before the look"),
		COLUMN("rss_bytes", "resident", VALUE_BYTES,
		       "resident memory as the kernel reports it"),
		COLUMN("requested_bytes", "live", VALUE_BYTES, "resident bytes of live blocks"),
		COLUMN("slack_bytes", "slack", VALUE_BYTES, "headers and rounding of live blocks"),
		COLUMN("pinned_bytes", "pinned", VALUE_BYTES,
		       "free bytes of pages with live blocks"),
		COLUMN("cached_bytes", "cached", VALUE_BYTES, "free pages held by the allocator"),
		COLUMN("thread_caches_bytes", "thread caches", VALUE_BYTES,
		       "free blocks that the C library keeps for each thread"),
		COLUMN("other_bytes", "other", VALUE_BYTES,
		       "mappings, files, code and stacks of the program"),
		COLUMN("recorder_bytes", "recorder", VALUE_BYTES, "Heapwise's own memory"),
	};
	struct result *table = result_table("over_time", "Resident memory over time", columns);
	struct resident_looks looks = {0};
	bool good = table && resident_looks_make(&looks, model, err) == 0;

	for (u64 i = 0; good && i < looks.rows.count; i++) {
		const struct resident_look *look = &looks.rows.data[i];
		const u64 *bytes = look->account.bytes;

		result_row(table, value_number(tick_clock_ns(&model->clock, look->memory->ticks)),
			   value_text(kind_word(look)), mark_word(table, look->mark),
			   value_number(look->memory->rss_bytes),
			   value_number(bytes[PART_REQUESTED]), value_number(bytes[PART_SLACK]),
			   value_number(bytes[PART_PINNED]), value_number(bytes[PART_CACHED]),
			   value_number(bytes[PART_THREAD_CACHES]),
			   value_number(others(&look->account)),
			   value_number(bytes[PART_RECORDER]));
	}
	resident_looks_release(&looks);
	if (table)
		table->hidden_in_text = true;
	return result_made_if(good, table, err, "the resident memory");
}
