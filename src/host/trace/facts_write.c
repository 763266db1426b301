/* SPDX-License-Identifier: MIT
 * Facts and contexts into payloads. Runs on the monitor's drain thread. Never touches the disk;
 * want of memory is remembered and asked for once per block. */
#include <string.h>

#include "host/trace/cursor.h"
#include "host/trace/facts.h"

enum { TEXT_MAX = 1 << 20 }; /* longer strings are cut: a block must hold them */

static void put_bytes(struct strbuf *buf, const void *bytes, u64 count)
{
	varint_add(buf, count);
	strbuf_add_bytes(buf, bytes, count);
}

static void put_text(struct strbuf *buf, const char *text)
{
	u64 length = text ? strlen(text) : 0;

	put_bytes(buf, text ? text : "", length < TEXT_MAX ? length : TEXT_MAX);
}

/* The record that was built in body goes to the payload. */
static void add_record(struct facts *facts, enum hw_fact tag)
{
	strbuf_add_char(&facts->payload, (char)tag);
	put_bytes(&facts->payload, strbuf_text(&facts->body), facts->body.count);
	facts->payload.failed |= facts->body.failed;
	strbuf_clear(&facts->body);
	facts->items++;
}

void facts_add_image(struct facts *facts, const struct stream_image *image)
{
	struct strbuf *body = &facts->body;

	varint_add(body, image->pid);
	varint_add(body, image->parent_pid);
	varint_add(body, image->number);
	varint_add(body, image->arch);
	varint_add(body, image->start_ticks);
	varint_add(body, image->start_ns);
	varint_add(body, image->sample_bytes);
	varint_add(body, image->flags);
	put_text(body, image->program);
	put_text(body, image->command);
	varint_add(body, image->access);
	add_record(facts, HW_FACT_IMAGE);
}

void facts_add_module(struct facts *facts, const struct stream_module *module)
{
	struct strbuf *body = &facts->body;
	u32 build_id_bytes = module->build_id ? module->build_id_bytes : 0;

	varint_add(body, module->id);
	varint_add(body, module->generation);
	varint_add(body, module->base);
	varint_add(body, module->start);
	varint_add(body, module->end);
	varint_add(body, module->loaded_ticks);
	varint_add(body, module->unloaded_ticks);
	put_text(body, module->path);
	put_bytes(body, module->build_id, build_id_bytes < TEXT_MAX ? build_id_bytes : 0);
	add_record(facts, HW_FACT_MODULE);
}

void facts_add_thread(struct facts *facts, const struct stream_thread *thread)
{
	struct strbuf *body = &facts->body;

	varint_add(body, thread->index);
	varint_add(body, thread->tid);
	varint_add(body, thread->start_ticks);
	put_bytes(body, thread->name, strnlen(thread->name, sizeof(thread->name)));
	add_record(facts, HW_FACT_THREAD);
}

void facts_add_clock(struct facts *facts, const struct stream_clock *clock)
{
	varint_add(&facts->body, clock->ticks);
	varint_add(&facts->body, clock->ns);
	add_record(facts, HW_FACT_CLOCK);
}

void facts_add_usage(struct facts *facts, const struct stream_usage *usage)
{
	varint_add(&facts->body, usage->ticks);
	varint_add(&facts->body, usage->rss_bytes);
	varint_add(&facts->body, usage->virtual_bytes);
	add_record(facts, HW_FACT_USAGE);
}

void facts_add_memory(struct facts *facts, const struct stream_memory *memory)
{
	u64 count = 0, at = 0, end = 0;
	struct strbuf *body = &facts->body;

	for (u64 i = 0; i < memory->count && count < MEMORY_ROWS; i++) {
		if (!facts_resident_fits(&memory->rows[i], end))
			continue;
		end = memory->rows[i].start + memory->rows[i].bytes;
		count++;
	}
	varint_add(body, memory->ticks);
	varint_add(body, memory->rss_bytes);
	varint_add(body, memory->high_bytes);
	varint_add(body, memory->moment);
	varint_add(body, count);
	end = 0;
	for (u64 i = 0; count; i++) {
		const struct stream_resident *row = &memory->rows[i];

		if (!facts_resident_fits(row, end))
			continue;
		end = row->start + row->bytes;
		count--;
		varint_add(body, row->start - at);
		varint_add(body, row->bytes);
		varint_add(body, row->bytes - row->resident_bytes);
		varint_add(body, row->kind << 1 | row->goes_on);
		at = row->start;
	}
	add_record(facts, HW_FACT_MEMORY);
}

void facts_add_name(struct facts *facts, const struct stream_name *name)
{
	varint_add(&facts->body, name->id);
	put_text(&facts->body, name->text);
	add_record(facts, HW_FACT_NAME);
}

void facts_add_aggregates(struct facts *facts, const struct stream_aggregate *rows, u64 count)
{
	struct strbuf *body = &facts->body;

	varint_add(body, count);
	for (u64 i = 0; i < count; i++) {
		varint_add(body, rows[i].context);
		varint_add(body, rows[i].allocations);
		varint_add(body, rows[i].bytes);
		varint_add(body, rows[i].frees);
		varint_add(body, rows[i].freed_bytes);
	}
	add_record(facts, HW_FACT_AGGREGATES);
}

void facts_add_scan(struct facts *facts, const struct stream_scan *scan,
		    const struct scan_piece *piece)
{
	struct strbuf *body = &facts->body;
	u64 next = 0;

	varint_add(body, scan->ticks);
	varint_add(body, scan->state);
	put_text(body, scan->reason);
	varint_add(body, scan->roots_bytes);
	varint_add(body, scan->chunks);
	varint_add(body, scan->scan_ns);
	varint_add(body, CLASS_COUNT);
	for (u32 i = 0; i < CLASS_COUNT; i++) {
		varint_add(body, scan->class_chunks[i]);
		varint_add(body, scan->class_bytes[i]);
	}
	varint_add(body, piece->total);
	varint_add(body, piece->first);
	varint_add(body, piece->count);
	for (u64 i = 0; i < piece->count; i++) {
		varint_add(body,
			   (piece->rows[i].chunk - next) << 3 | (piece->rows[i].chunk_class & 7));
		next = piece->rows[i].chunk + 1;
	}
	add_record(facts, HW_FACT_SCAN);
}

static void put_totals(struct strbuf *body, const struct stream_totals *totals)
{
	const u64 fault_count = sizeof(totals->faults) / sizeof(totals->faults[0]);

	varint_add(body, totals->allocations);
	varint_add(body, totals->frees);
	varint_add(body, totals->bytes);
	varint_add(body, totals->freed_bytes);
	varint_add(body, totals->peak_bytes);
	varint_add(body, totals->peak_chunks);
	varint_add(body, totals->peak_ticks);
	varint_add(body, totals->kept_chunks);
	varint_add(body, totals->kept_bytes);
	varint_add(body, totals->unknown_frees);
	varint_add(body, totals->implied_frees);
	varint_add(body, totals->lost_events);
	varint_add(body, totals->durations);
	varint_add(body, totals->duration_ticks);
	varint_add(body, totals->aggregated_from_ticks);
	varint_add(body, fault_count);
	for (u64 i = 0; i < fault_count; i++)
		varint_add(body, totals->faults[i]);
}

void facts_add_image_end(struct facts *facts, const struct stream_image_end *end)
{
	struct strbuf *body = &facts->body;

	varint_add(body, end->ticks);
	varint_add(body, end->how);
	varint_add(body, hw_zigzag(end->value));
	put_totals(body, &end->totals);
	varint_add(body, end->cpu_ns);
	add_record(facts, HW_FACT_IMAGE_END);
}

void facts_add_note(struct facts *facts, const char *key, const char *value)
{
	put_text(&facts->body, key);
	put_text(&facts->body, value);
	add_record(facts, HW_FACT_NOTE);
}

bool facts_failed(const struct facts *facts) { return facts->payload.failed; }

void facts_clear(struct facts *facts)
{
	strbuf_clear(&facts->payload);
	facts->items = 0;
}

void facts_release(struct facts *facts)
{
	strbuf_release(&facts->payload);
	strbuf_release(&facts->body);
}

void contexts_add(struct contexts *contexts, const struct stream_context *context)
{
	struct context_model *model = &contexts->model;
	u64 *next_pc = &model->next_pc[context_pc_slot(model->pc)];
	bool told = *next_pc != context->pc;

	varint_add(&contexts->columns[0], (u32)hw_zigzag((i32)(context->id - model->id - 1)));
	varint_add(&contexts->columns[1], (u32)hw_zigzag((i32)(context->id - context->parent)));
	varint_add(&contexts->columns[2], (u64)context->flags << 1 | told);
	if (told)
		varint_add(&contexts->columns[3], hw_zigzag((i64)(context->pc - model->pc)));
	*next_pc = context->pc;
	model->pc = context->pc;
	model->id = context->id;
	contexts->items++;
}

static u64 put_contexts_head(const struct contexts *contexts, u8 *head)
{
	u8 *p = head;

	for (u32 i = 0; i < CONTEXT_COLUMNS; i++)
		p = hw_varint_put(p, contexts->columns[i].count);
	return (u64)(p - head);
}

u64 contexts_bytes(const struct contexts *contexts, u32 part_bytes[CONTEXT_COLUMNS + 1])
{
	u8 head[CONTEXTS_HEAD_ROOM];
	u64 sum = part_bytes[0] = (u32)put_contexts_head(contexts, head);

	for (u32 i = 0; i < CONTEXT_COLUMNS; i++)
		sum += part_bytes[i + 1] = (u32)contexts->columns[i].count;
	return sum;
}

void contexts_finish(struct contexts *contexts, u8 *out)
{
	out += put_contexts_head(contexts, out);
	for (u32 i = 0; i < CONTEXT_COLUMNS; i++) {
		struct strbuf *column = &contexts->columns[i];

		memcpy(out, strbuf_text(column), column->count);
		out += column->count;
		strbuf_clear(column);
	}
	memset(&contexts->model, 0, sizeof(contexts->model));
	contexts->items = 0;
}

bool contexts_failed(const struct contexts *contexts)
{
	bool failed = false;

	for (u32 i = 0; i < CONTEXT_COLUMNS; i++)
		failed |= contexts->columns[i].failed;
	return failed;
}

void contexts_release(struct contexts *contexts)
{
	for (u32 i = 0; i < CONTEXT_COLUMNS; i++)
		strbuf_release(&contexts->columns[i]);
}
