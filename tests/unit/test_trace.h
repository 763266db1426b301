/* SPDX-License-Identifier: MIT
 * For the tests of the trace room: a log of everything that a sink was told, a generator of
 * streams, and ways to write and read them. Header only, as each test file is a program. */
#ifndef UNIT_TEST_TRACE_H
#define UNIT_TEST_TRACE_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/base/bytemap.h"
#include "host/base/io.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "lib/test.h"
#include "host/trace/reader.h"
#include "host/trace/stream.h"
#include "host/trace/symtab.h"
#include "host/trace/writer.h"

#define HELPER __attribute__((unused)) static

/* Variables that start empty (a teller: as told) and are released where their block ends. */
#define LOG(name) struct log name __attribute__((cleanup(log_release))) = {0}
#define TEXT(name) struct strbuf name __attribute__((cleanup(strbuf_release))) = {0}
#define TELLER(name) struct teller name __attribute__((cleanup(teller_release)))

/* What was told, one text per sort of fact: a file keeps the order within a sort. */
struct log {
	struct strbuf images, modules, threads, contexts, clocks, usages, aggregates, ends, notes, names;
	struct strbuf scans, graphs, accesses;
	VEC(struct event) events;
	VEC(struct stream_routine) routines;
};

HELPER int log_image(void *self, const struct stream_image *i, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->images,
		    "pid %u parent %u number %u arch %u start %" PRIu64 " %" PRIu64
		    " sample %" PRIu64 " flags %u access %u %s | %s\n",
		    i->pid, i->parent_pid, i->number, i->arch, i->start_ticks, i->start_ns,
		    i->sample_bytes, i->flags, i->access, i->program, i->command);
	return 0;
}

HELPER int log_module(void *self, const struct stream_module *m, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->modules,
		    "%u gen %u %" PRIx64 " %" PRIx64 " %" PRIx64 " ticks %" PRIu64 " %" PRIu64
		    " %s ",
		    m->id, m->generation, m->base, m->start, m->end, m->loaded_ticks,
		    m->unloaded_ticks, m->path);
	for (u32 i = 0; i < m->build_id_bytes; i++)
		strbuf_addf(&log->modules, "%02x", m->build_id[i]);
	strbuf_add(&log->modules, "\n");
	return 0;
}

HELPER int log_thread(void *self, const struct stream_thread *t, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->threads, "%u tid %u start %" PRIu64 " %s\n", t->index, t->tid,
		    t->start_ticks, t->name);
	return 0;
}

HELPER int log_contexts(void *self, const struct stream_context *c, u64 count, struct err *err)
{
	struct log *log = self;

	(void)err;
	for (u64 i = 0; i < count; i++)
		strbuf_addf(&log->contexts, "%u under %u pc %" PRIx64 " flags %u\n", c[i].id,
			    c[i].parent, c[i].pc, c[i].flags);
	return 0;
}

HELPER int log_events(void *self, const struct event *events, u64 count, struct err *err)
{
	struct log *log = self;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		if (!vec_push(&log->events, events[i]))
			return ERR_MEMORY;
	}
	return 0;
}

HELPER int log_clock(void *self, const struct stream_clock *c, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->clocks, "%" PRIu64 " = %" PRIu64 "\n", c->ticks, c->ns);
	return 0;
}

HELPER int log_usage(void *self, const struct stream_usage *u, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->usages, "%" PRIu64 " rss %" PRIu64 " virtual %" PRIu64 "\n", u->ticks,
		    u->rss_bytes, u->virtual_bytes);
	return 0;
}

HELPER int log_memory(void *self, const struct stream_memory *m, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->usages, "%" PRIu64 " memory %" PRIu64 " high %" PRIu64 " huge %" PRIu64 "/%" PRIu64 " moment %u",
		    m->ticks, m->rss_bytes, m->high_bytes, m->libc_huge_bytes, m->huge_bytes, m->moment);
	for (u64 i = 0; i < m->count; i++)
		strbuf_addf(&log->usages, " %" PRIx64 "+%" PRIu64 "/%" PRIu64 " %u %u",
			    m->rows[i].start, m->rows[i].bytes, m->rows[i].resident_bytes,
			    m->rows[i].kind, m->rows[i].goes_on);
	strbuf_addf(&log->usages, " why %u caches %u/%u", m->why, m->caches_read, m->caches_unread);
	for (u64 i = 0; i < m->cached_count; i++)
		strbuf_addf(&log->usages, " %" PRIx64 "+%u of %u", m->cached[i].address, m->cached[i].bytes,
			    m->cached[i].tid);
	strbuf_add(&log->usages, "\n");
	return 0;
}

HELPER int log_aggregates(void *self, const struct stream_aggregate *rows, u64 count,
			  struct err *err)
{
	struct log *log = self;

	(void)err;
	for (u64 i = 0; i < count; i++)
		strbuf_addf(&log->aggregates,
			    "%u: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			    rows[i].context, rows[i].allocations, rows[i].bytes, rows[i].frees,
			    rows[i].freed_bytes);
	return 0;
}

HELPER int log_scan(void *self, const struct stream_scan *s, const struct stream_class *rows,
		    u64 count, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->scans,
		    "%" PRIu64 " state %u '%s' roots %" PRIu64 " chunks %" PRIu64 " ns %" PRIu64,
		    s->ticks, s->state, s->reason, s->roots_bytes, s->chunks, s->scan_ns);
	for (u32 i = 0; i < CLASS_COUNT; i++)
		strbuf_addf(&log->scans, " %" PRIu64 ":%" PRIu64, s->class_chunks[i],
			    s->class_bytes[i]);
	for (u64 i = 0; i < count; i++)
		strbuf_addf(&log->scans, " %" PRIu64 "=%u", rows[i].chunk, rows[i].chunk_class);
	strbuf_add(&log->scans, "\n");
	return 0;
}

HELPER int log_graph(void *self, const struct stream_graph *g, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->graphs, "%" PRIu64 "\n", g->ticks);
	for (u64 i = 0; i < g->chunk_count + g->root_count; i++) {
		const struct stream_root *r = i < g->chunk_count ? NULL : &g->roots[i - g->chunk_count];

		if (r)
			strbuf_addf(&log->graphs, "root %u tid %u %" PRIx64 "+%" PRIu64 " code %" PRIx64 " '%s':",
				    r->kind, r->tid, r->address, r->bytes, r->code, r->name);
		else
			strbuf_addf(&log->graphs, "%" PRIu64 ":", g->chunks[i]);
		for (u64 k = g->starts[i]; k < g->starts[i + 1]; k++)
			strbuf_addf(&log->graphs, " %u->%" PRIu64 "+%u", g->edges[k].from,
				    g->chunks[g->edges[k].target], g->edges[k].to);
		if (!r && g->contents)
			strbuf_addf(&log->graphs, " is %u, %u", g->contents[i].group, g->contents[i].untouched_pages);
		strbuf_add(&log->graphs, "\n");
	}
	for (u64 i = 0; i < g->number_count; i++)
		strbuf_addf(&log->graphs, "node %u+%u has %" PRIu64 "\n", (u32)(g->numbers[i].place >> 32),
			    (u32)g->numbers[i].place, g->numbers[i].value);
	return 0;
}

HELPER int log_accesses(void *self, const struct stream_access *rows, u64 count, struct err *err)
{
	struct log *log = self;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		const struct stream_access *r = &rows[i];

		strbuf_addf(&log->accesses,
			    "%" PRIu64 ": %" PRIu64 "-%" PRIu64 " r %" PRIu64 " w %" PRIu64
			    " bytes %" PRIu64 " %" PRIu64 " [%" PRIu64 ",%" PRIu64 ") of %" PRIu64
			    " flags %u",
			    r->chunk, r->first_ticks, r->last_ticks, r->reads, r->writes,
			    r->read_bytes, r->written_bytes, r->low, r->high, r->covered_bytes,
			    r->flags);
		strbuf_add(&log->accesses, r->map ? " map " : "");
		if (r->map)
			bytemap_add_ranges(&log->accesses, r->map, HW_MAP_BYTES, true, 0);
		for (u32 side = 0; side < HW_SIDES && r->sided; side++) {
			strbuf_addf(&log->accesses, " side %" PRIu64 " ", r->side_bytes[side]);
			if (r->side_maps[side])
				bytemap_add_ranges(&log->accesses, r->side_maps[side], HW_MAP_BYTES, true, 0);
		}
		strbuf_add(&log->accesses, "\n");
	}
	return 0;
}

HELPER int log_image_end(void *self, const struct stream_image_end *end, struct err *err)
{
	const struct stream_totals *t = &end->totals;
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->ends, "%" PRIu64 " how %u value %d cpu %" PRIu64 ":", end->ticks, end->how, end->value,
		    end->cpu_ns);
	for (u64 i = 0; i < sizeof(*t) / sizeof(u64); i++) {
		u64 word;

		memcpy(&word, (const char *)t + i * sizeof(u64), sizeof(word));
		strbuf_addf(&log->ends, " %" PRIu64, word);
	}
	strbuf_add(&log->ends, "\n");
	return 0;
}

HELPER int log_note(void *self, const char *key, const char *value, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->notes, "%s = %s\n", key, value);
	return 0;
}

HELPER int log_name(void *self, const struct stream_name *name, struct err *err)
{
	struct log *log = self;

	(void)err;
	strbuf_addf(&log->names, "%u = %s\n", name->id, name->text);
	return 0;
}

HELPER int log_routines(void *self, const struct stream_routine *rows, u64 count, struct err *err)
{
	struct log *log = self;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		if (!vec_push(&log->routines, rows[i]))
			return ERR_MEMORY;
	}
	return 0;
}

HELPER struct stream_sink log_sink(struct log *log)
{
	return (struct stream_sink){
		.self = log,
		.image = log_image,
		.module = log_module,
		.thread = log_thread,
		.contexts = log_contexts,
		.events = log_events,
		.clock = log_clock,
		.usage = log_usage,
		.memory = log_memory,
		.aggregates = log_aggregates,
		.scan = log_scan,
		.graph = log_graph,
		.accesses = log_accesses,
		.routines = log_routines,
		.image_end = log_image_end,
		.note = log_note,
		.name = log_name,
	};
}

HELPER void log_release(struct log *log)
{
	struct strbuf *const texts[] = {&log->images, &log->modules, &log->threads, &log->contexts,
					&log->clocks, &log->usages, &log->aggregates, &log->ends,
					&log->notes, &log->names, &log->scans, &log->graphs,
					&log->accesses};

	for (u64 i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		strbuf_release(texts[i]);
	vec_release(&log->events);
	vec_release(&log->routines);
}

HELPER bool same_event(const struct event *a, const struct event *b)
{
	return a->ticks == b->ticks && a->address == b->address && a->size == b->size &&
	       a->chunk == b->chunk && a->context == b->context && a->thread == b->thread &&
	       a->kind == b->kind && a->flags == b->flags && a->aux == b->aux;
}

HELPER void check_same_events(const struct log *got, const struct log *want)
{
	CHECK_EQ(got->events.count, want->events.count);
	for (u64 i = 0; i < want->events.count && i < got->events.count; i++) {
		const struct event *a = &got->events.data[i], *b = &want->events.data[i];

		if (!same_event(a, b))
			FAIL("event %" PRIu64 " differs: kind %u/%u ticks %" PRIu64 "/%" PRIu64
			     " address %" PRIx64 "/%" PRIx64 " size %" PRIu64 "/%" PRIu64
			     " chunk %" PRIu64 "/%" PRIu64 " context %u/%u thread %u/%u",
			     i, a->kind, b->kind, a->ticks, b->ticks, a->address, b->address,
			     a->size, b->size, a->chunk, b->chunk, a->context, b->context,
			     a->thread, b->thread);
	}
}

HELPER bool same_routine(const struct stream_routine *a, const struct stream_routine *b)
{
	return a->ticks == b->ticks && a->address == b->address && a->value == b->value &&
	       a->thread == b->thread && a->how == b->how && a->step == b->step;
}

HELPER void check_same_routines(const struct log *got, const struct log *want)
{
	CHECK_EQ(got->routines.count, want->routines.count);
	for (u64 i = 0; i < want->routines.count && i < got->routines.count; i++) {
		const struct stream_routine *a = &got->routines.data[i], *b = &want->routines.data[i];

		if (!same_routine(a, b))
			FAIL("routine %" PRIu64 " differs: step %u/%u ticks %" PRIu64 "/%" PRIu64
			     " address %" PRIx64 "/%" PRIx64 " value %" PRIx64 "/%" PRIx64
			     " thread %u/%u how %u/%u",
			     i, a->step, b->step, a->ticks, b->ticks, a->address, b->address,
			     a->value, b->value, a->thread, b->thread, a->how, b->how);
	}
}

HELPER void check_same_log(const struct log *got, const struct log *want)
{
	CHECK_STR(strbuf_text(&got->images), strbuf_text(&want->images));
	CHECK_STR(strbuf_text(&got->modules), strbuf_text(&want->modules));
	CHECK_STR(strbuf_text(&got->threads), strbuf_text(&want->threads));
	CHECK_STR(strbuf_text(&got->contexts), strbuf_text(&want->contexts));
	CHECK_STR(strbuf_text(&got->clocks), strbuf_text(&want->clocks));
	CHECK_STR(strbuf_text(&got->usages), strbuf_text(&want->usages));
	CHECK_STR(strbuf_text(&got->aggregates), strbuf_text(&want->aggregates));
	CHECK_STR(strbuf_text(&got->ends), strbuf_text(&want->ends));
	CHECK_STR(strbuf_text(&got->notes), strbuf_text(&want->notes));
	CHECK_STR(strbuf_text(&got->names), strbuf_text(&want->names));
	CHECK_STR(strbuf_text(&got->scans), strbuf_text(&want->scans));
	CHECK_STR(strbuf_text(&got->graphs), strbuf_text(&want->graphs));
	CHECK_STR(strbuf_text(&got->accesses), strbuf_text(&want->accesses));
	check_same_events(got, want);
	check_same_routines(got, want);
}

/* Tells a stream to two sinks: the writer under test, and the log of what is expected. */
struct teller {
	struct stream_sink to[2];
	struct err err;
	u64 random;
	/* the image that is being told */
	u64 ticks;
	u32 threads, contexts;
	VEC(struct event) live;  /* allocation events of live chunks */
	VEC(u64) freed;          /* addresses, latest last */
	VEC(struct stream_routine) calls; /* that have not ended */
	u64 next_chunk, next_address;
};

#define TELL(teller, call, ...)                                                                    \
	do {                                                                                       \
		for (int tell_i = 0; tell_i < 2; tell_i++) {                                       \
			const struct stream_sink *tell_to = &(teller)->to[tell_i];                 \
			if (tell_to->call &&                                                       \
			    tell_to->call(tell_to->self, __VA_ARGS__, &(teller)->err) < 0)         \
				FAIL("%s: %s", #call, (teller)->err.text);                         \
		}                                                                                  \
	} while (0)

HELPER u64 draw(struct teller *teller, u64 below)
{
	teller->random ^= teller->random << 13;
	teller->random ^= teller->random >> 7;
	teller->random ^= teller->random << 17;
	return (teller->random >> 11) % below;
}

HELPER void tell_image(struct teller *teller, u32 number)
{
	struct stream_image image = {
		.pid = 1000 + number, .parent_pid = 999, .number = number, .arch = 62,
		.start_ticks = 5000000 + number, .start_ns = 77, .sample_bytes = number * 512,
		.flags = 3, .access = number % ACCESS_MODES, .program = "/usr/bin/example", .command = "example 'a b' -c",
	};

	teller->ticks = image.start_ticks;
	teller->threads = teller->contexts = 0;
	teller->next_chunk = 0;
	teller->next_address = 0x5555555592a0;
	vec_clear(&teller->live);
	vec_clear(&teller->freed);
	vec_clear(&teller->calls);
	TELL(teller, image, &image);
}

HELPER void tell_thread(struct teller *teller)
{
	struct stream_thread thread = {
		.index = teller->threads++, .tid = 1000 + teller->threads,
		.start_ticks = teller->ticks, .name = "worker",
	};

	TELL(teller, thread, &thread);
}

HELPER void tell_module(struct teller *teller, u32 id, u64 unloaded_ticks)
{
	static const u8 build_id[20] = {1, 2, 3, 0xff, 0, 7};
	struct stream_module module = {
		.id = id, .generation = id / 2, .base = 0x7f0000000000 + id * 0x100000,
		.start = 0x7f0000000000 + id * 0x100000, .end = 0x7f0000080000 + id * 0x100000,
		.loaded_ticks = teller->ticks, .unloaded_ticks = unloaded_ticks,
		.path = id ? "/usr/lib/libexample.so.1" : "",
		.build_id = build_id, .build_id_bytes = id % 2 ? 20 : 0,
	};

	TELL(teller, module, &module);
}

/* A few new contexts in one call: children of known ones, and of each other. */
HELPER void tell_contexts(struct teller *teller)
{
	struct stream_context contexts[5];
	u64 count = 1 + draw(teller, 5);

	for (u64 i = 0; i < count; i++) {
		u32 id = ++teller->contexts;

		contexts[i] = (struct stream_context){
			.id = id,
			.parent = (u32)draw(teller, id),
			.pc = draw(teller, 9) ? 0x401000 + draw(teller, 400)
					      : draw(teller, 1ull << 40) << 24,
			.flags = draw(teller, 50) == 0,
		};
	}
	TELL(teller, contexts, contexts, count);
}

HELPER u64 draw_size(struct teller *teller)
{
	switch (draw(teller, 12)) {
	case 0:
		return 0;
	case 1:
		return draw(teller, 1 << 20);
	case 2:
		return draw(teller, 40) ? 4096 : UINT64_MAX - draw(teller, 3);
	default:
		return 16 + 8 * draw(teller, 12);
	}
}

HELPER u64 draw_address(struct teller *teller, u64 size)
{
	if (teller->freed.count && draw(teller, 3))
		return teller->freed.data[--teller->freed.count];
	if (draw(teller, 30) == 0)
		return draw(teller, 1ull << 47) | 3; /* unaligned, anywhere */
	teller->next_address += ((size & 0xffff) + 8 + 15) / 16 * 16;
	return teller->next_address;
}

HELPER struct event draw_event(struct teller *teller)
{
	struct event e = {
		.context = teller->contexts ? (u32)draw(teller, teller->contexts + 1) : 0,
		.thread = draw(teller, 4) ? 0 : (u32)draw(teller, teller->threads),
		.flags = draw(teller, 60) == 0 ? EVENT_NESTED : 0,
		.chunk = NO_CHUNK,
	};

	teller->ticks += draw(teller, 3000);
	e.ticks = draw(teller, 50) ? teller->ticks : teller->ticks - draw(teller, 100000);
	return e;
}

HELPER struct event draw_allocation(struct teller *teller)
{
	struct event e = draw_event(teller);

	e.kind = (u8)(HW_MALLOC + draw(teller, 6));
	e.size = draw_size(teller);
	e.address = draw_address(teller, e.size);
	e.chunk = teller->next_chunk++;
	if (!vec_push(&teller->live, e))
		FAIL("out of memory");
	return e;
}

HELPER struct event draw_free(struct teller *teller)
{
	struct event e = draw_event(teller);
	u64 count = teller->live.count;
	u64 i = draw(teller, 3) ? count - 1 : draw(teller, count);

	e.kind = (u8)(HW_FREE + draw(teller, 4));
	e.flags |= draw(teller, 100) ? 0 : EVENT_IMPLIED;
	e.chunk = teller->live.data[i].chunk;
	e.address = teller->live.data[i].address;
	e.size = teller->live.data[i].size;
	teller->live.data[i] = teller->live.data[count - 1];
	teller->live.count--;
	if (!vec_push(&teller->freed, e.address))
		FAIL("out of memory");
	return e;
}

HELPER struct event draw_other(struct teller *teller)
{
	static const u8 kinds[] = {HW_MMAP, HW_MUNMAP, HW_FAILED, HW_DURATION, HW_MARK, HW_LOST,
				   HW_FREE, HW_DELETE};
	struct event e = draw_event(teller);

	e.kind = kinds[draw(teller, sizeof(kinds))];
	e.address = draw(teller, 1ull << 48);
	e.size = draw(teller, 1000);
	if (e.kind == HW_FAILED || e.kind == HW_DURATION)
		e.aux = (u16)(1 + draw(teller, 10));
	return e;
}

HELPER void tell_events(struct teller *teller, u64 count)
{
	struct event batch[256];

	while (count) {
		u64 some = count < 256 ? count : 256;

		for (u64 i = 0; i < some; i++) {
			u64 what = draw(teller, 100);

			if (what < 3)
				batch[i] = draw_other(teller);
			else if (what < 50 && teller->live.count)
				batch[i] = draw_free(teller);
			else
				batch[i] = draw_allocation(teller);
		}
		TELL(teller, events, batch, some);
		count -= some;
	}
}

/* Any number, often a small one. */
HELPER u64 draw_number(struct teller *teller)
{
	return draw(teller, 20) ? draw(teller, 1 << 10) : UINT64_MAX - draw(teller, 2);
}

/* A map of a few ranges, of one of a thousand that are made once. */
HELPER const u64 *draw_map(struct teller *teller)
{
	static u64 maps[1000][HW_MAP_WORDS];
	static bool made[1000];
	u64 number = draw(teller, 1000), *map = maps[number];

	for (u64 i = made[number] ? 0 : draw(teller, 20); i; i--) {
		u64 from = draw(teller, HW_MAP_BYTES - 40);

		bytemap_set(map, from, from + draw(teller, 40));
	}
	made[number] = true;
	return map;
}

HELPER struct stream_access draw_access(struct teller *teller, u64 chunk)
{
	struct stream_access row = {.chunk = chunk, .covered_bytes = UINT64_MAX};

	if (draw(teller, 5)) {
		row.first_ticks = teller->ticks - draw(teller, 100000);
		row.last_ticks = row.first_ticks + draw_number(teller) % 100000;
		row.low = draw_number(teller);
		row.high = row.low + draw(teller, 100);
	}
	row.reads = draw_number(teller);
	row.writes = draw_number(teller);
	row.read_bytes = draw_number(teller);
	row.written_bytes = draw_number(teller);
	if (draw(teller, 2))
		row.covered_bytes = draw(teller, 1000);
	if (!draw(teller, 4)) {
		row.map = draw_map(teller);
		row.covered_bytes = bytemap_count(row.map, HW_MAP_BYTES);
	}
	if (row.covered_bytes != UINT64_MAX && draw(teller, 2)) {
		row.sided = true;
		for (u32 side = 0; side < HW_SIDES; side++) {
			row.side_bytes[side] = draw(teller, row.covered_bytes + 1);
			if (!row.map || draw(teller, 2))
				continue;
			row.side_maps[side] = row.map;
			row.side_bytes[side] = row.covered_bytes;
		}
	}
	row.flags = (u32)draw(teller, 16);
	return row;
}

/* Of chunks that live, or that have ended. */
HELPER void tell_accesses(struct teller *teller, u64 count)
{
	for (u64 i = 0; i < count && teller->next_chunk; i++) {
		struct stream_access rows[2];
		u64 some = 1 + draw(teller, 2);

		for (u64 k = 0; k < some; k++)
			rows[k] = draw_access(teller, draw(teller, teller->next_chunk));
		TELL(teller, accesses, rows, some);
	}
}

HELPER u64 draw_routine(struct teller *teller)
{
	return 0x401000 + 16 * draw(teller, 1 + draw(teller, 1000));
}

/* Mostly calls that end as they should, in any thread, and some of everything else. */
HELPER struct stream_routine draw_step(struct teller *teller)
{
	struct stream_routine row = {.ticks = teller->ticks += draw(teller, 400)};
	u64 what = draw(teller, 100);

	row.thread = (u32)draw(teller, teller->threads);
	if (what < 10) {
		bool frees = what < 5;

		row.step = frees ? ROUTINE_FREE : ROUTINE_ALLOCATION;
		row.address = draw_number(teller);
		row.value = frees ? 0 : draw_number(teller);
		row.how = (u16)((frees ? HW_FREE : HW_MALLOC) + draw(teller, 2));
	} else if (what < 50 || !teller->calls.count) {
		row.address = draw_routine(teller);
		row.value = draw(teller, 3) ? row.address ^ 0x4321 : draw_number(teller);
		if (!vec_push(&teller->calls, row))
			FAIL("out of memory");
	} else {
		row = teller->calls.data[--teller->calls.count];
		row.ticks = draw(teller, 50) ? teller->ticks : teller->ticks - draw(teller, 100000);
		row.step = ROUTINE_LEAVE;
		row.value = 0;
		if (what == 99)
			row.address = draw_number(teller);
		row.how = what == 98 ? (u16)draw_number(teller) : 0;
	}
	return row;
}

HELPER void tell_routines(struct teller *teller, u64 count)
{
	struct stream_routine batch[100];

	while (count) {
		u64 some = count < 100 ? count : 100;

		for (u64 i = 0; i < some; i++)
			batch[i] = draw_step(teller);
		TELL(teller, routines, batch, some);
		count -= some;
	}
}

HELPER int compare_chunks(const void *a, const void *b)
{
	const struct stream_class *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* Every live chunk has a class. */
HELPER void tell_scan(struct teller *teller)
{
	struct stream_scan scan = {.ticks = teller->ticks, .state = SCAN_DONE, .reason = "",
				   .roots_bytes = 1 << 20, .chunks = teller->live.count,
				   .scan_ns = 12345};
	VEC(struct stream_class) rows = {0};

	for (u64 i = 0; i < teller->live.count; i++) {
		struct stream_class row = {teller->live.data[i].chunk,
					   (u8)draw(teller, CLASS_COUNT)};

		scan.class_chunks[row.chunk_class]++;
		scan.class_bytes[row.chunk_class] += teller->live.data[i].size;
		if (!vec_push(&rows, row))
			FAIL("out of memory");
	}
	if (rows.count)
		qsort(rows.data, rows.count, sizeof(*rows.data), compare_chunks);
	TELL(teller, scan, &scan, rows.data, rows.count);
	vec_release(&rows);
}

/* A graph of these chunks and roots with at most so many pointers from each; who gets it releases it. */
struct drawn_graph {
	struct stream_graph graph;
	VEC(u64) chunks;
	VEC(u64) starts;
	VEC(struct stream_edge) edges;
	VEC(struct stream_root) roots;
};

HELPER void draw_edges(struct teller *teller, struct drawn_graph *to, u64 count)
{
	u64 from = draw(teller, 20) ? 0 : 3;

	if (!vec_push(&to->starts, to->edges.count))
		FAIL("out of memory");
	for (u64 i = 0; i < count && to->chunks.count; i++) {
		struct stream_edge edge = {.target = (u32)draw(teller, to->chunks.count),
					   .to = draw(teller, 5) ? 0 : (u32)draw_number(teller)};

		from = draw(teller, 1000) ? from + 8 * draw(teller, 4) : UINT32_MAX;
		edge.from = from < UINT32_MAX ? (u32)from : UINT32_MAX;
		if (!vec_push(&to->edges, edge))
			FAIL("out of memory");
	}
}

HELPER void draw_graph(struct teller *teller, struct drawn_graph *to, u64 chunks, u64 roots, u64 edges)
{
	static const char *const names[] = {"", "rdi", "/usr/lib/libc.so.6"};

	for (u64 i = 0, chunk = 0; i < chunks; i++, chunk += 1 + draw(teller, 3))
		if (!vec_push(&to->chunks, chunk))
			FAIL("out of memory");
	for (u64 i = 0; i < roots; i++) {
		struct stream_root root = {.kind = (u8)draw(teller, ROOT_KINDS), .tid = (u32)draw_number(teller),
					   .address = draw_number(teller), .bytes = draw_number(teller),
					   .code = draw_number(teller), .name = names[draw(teller, 3)]};

		if (!vec_push(&to->roots, root))
			FAIL("out of memory");
	}
	for (u64 i = 0; i < chunks + roots; i++)
		draw_edges(teller, to, draw(teller, edges + 1));
	if (!vec_push(&to->starts, to->edges.count))
		FAIL("out of memory");
	to->graph = (struct stream_graph){teller->ticks, chunks, roots, to->chunks.data,
					  to->roots.data, to->starts.data, to->edges.data, NULL, NULL, 0, NULL};
}

HELPER void drawn_graph_release(struct drawn_graph *graph)
{
	vec_release(&graph->chunks);
	vec_release(&graph->starts);
	vec_release(&graph->edges);
	vec_release(&graph->roots);
}

/* About half of the chunks that there were. */
HELPER void tell_graph(struct teller *teller)
{
	struct drawn_graph drawn = {0};

	draw_graph(teller, &drawn, teller->next_chunk / 3, draw(teller, 5), 6);
	TELL(teller, graph, &drawn.graph);
	drawn_graph_release(&drawn);
}

HELPER void tell_image_end(struct teller *teller)
{
	struct stream_image_end end = {.ticks = teller->ticks, .how = IMAGE_KILLED, .value = -9, .cpu_ns = 123456789};

	for (u64 i = 0; i < sizeof(end.totals) / sizeof(u64); i++) {
		u64 word = draw(teller, 1 + (1ull << (i % 60)));

		memcpy((char *)&end.totals + i * sizeof(u64), &word, sizeof(word));
	}
	TELL(teller, image_end, &end);
}

/* An image with everything in it and about `events` events. */
HELPER void tell_whole_image(struct teller *teller, u32 number, u64 events)
{
	struct stream_clock clock = {.ticks = 5, .ns = 6};
	static const struct stream_resident residents[] = {
		{0x1000, 0x3000, 0x1000, MEMORY_MODULE, 0},
		{0x4000, 0x2000, 0x2000, MEMORY_BREAK, 0},
		{0x8000, 0x1000, 0x1000, MEMORY_BREAK, 1},
		{0x7ffffffff000, 0x1000, 0, MEMORY_STACK, 0},
	};
	static const struct stream_cached cached[] = {
		{0x4010, 32, 101}, {0x4030, 1040, 102}, {0x8010, 48, 101}, {0xffffffffffff0000, 64, UINT32_MAX}};
	struct stream_memory memory = {.rss_bytes = 4 << 12,
				       .high_bytes = 5 << 12,
				       .huge_bytes = 6 << 20,
				       .libc_huge_bytes = 4 << 20,
				       .moment = MEMORY_END,
				       .why = MEMORY_LAST,
				       .rows = residents,
				       .count = 4,
				       .cached = cached,
				       .cached_count = 4,
				       .caches_read = 3,
				       .caches_unread = 70000};
	struct stream_usage usage = {.rss_bytes = 1 << 20, .virtual_bytes = 1 << 24};
	struct stream_aggregate rows[3] = {
		{0, 1, 2, 3, 4}, {1, UINT64_MAX, 6, 7, 8}, {2, 9, 9, 9, 9}};

	tell_image(teller, number);
	tell_module(teller, 0, 0);
	tell_module(teller, 1, 0);
	tell_thread(teller);
	tell_contexts(teller);
	tell_contexts(teller);
	for (u32 part = 0; part < 10; part++) {
		tell_thread(teller);
		tell_contexts(teller);
		tell_events(teller, events / 10);
		tell_accesses(teller, events / 50);
		tell_routines(teller, events / 5);
		clock.ticks = usage.ticks = teller->ticks;
		clock.ns = teller->ticks * 10;
		TELL(teller, clock, &clock);
		TELL(teller, usage, &usage);
		memory.ticks = teller->ticks;
		TELL(teller, memory, &memory);
	}
	tell_module(teller, 1, teller->ticks);
	TELL(teller, note, "inside", "an image");
	TELL(teller, name, &(struct stream_name){.id = number, .text = "a phase"});
	TELL(teller, name, &(struct stream_name){.id = 1023, .text = ""});
	TELL(teller, aggregates, rows, 2 + (teller->contexts > 1));
	tell_scan(teller);
	tell_graph(teller);
	tell_image_end(teller);
}

HELPER void teller_release(struct teller *teller)
{
	vec_release(&teller->live);
	vec_release(&teller->freed);
	vec_release(&teller->calls);
}

HELPER const char *test_path(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

HELPER struct trace_writer *writer_or_fail(const char *path)
{
	struct err err = {0};
	struct trace_writer *writer = trace_writer_open(path, NULL, &err);

	if (!writer)
		FAIL("%s", err.text);
	return writer;
}

HELPER void close_or_fail(struct trace_writer *writer)
{
	struct err err = {0};

	if (trace_writer_close(writer, &err) < 0)
		FAIL("%s", err.text);
}

/* Writes a file of `images` images and logs what is in it. */
HELPER void write_story(const char *path, u32 images, u64 events, u64 seed, struct log *want)
{
	struct trace_writer *writer = writer_or_fail(path);
	TELLER(teller) = {.to = {trace_writer_sink(writer), log_sink(want)},
			  .random = seed * 2 + 1};

	TELL(&teller, note, "before", "all images");
	for (u32 i = 0; i < images; i++)
		tell_whole_image(&teller, i, events);
	TELL(&teller, note, "unrecorded_children", "3");
	close_or_fail(writer);
}

/* Reads all of a file; returns trace_read's status, or that of trace_open. */
HELPER int read_story(const char *path, const struct trace_read_options *options, struct log *log,
		      struct trace_info *info, struct err *err)
{
	struct trace_reader *reader = trace_open(path, err);
	struct stream_sink sink = log_sink(log);
	int status;

	if (!reader)
		return ERR_INPUT;
	status = trace_read(reader, options, &sink, err);
	*info = *trace_info(reader);
	trace_close(reader);
	return status;
}

#endif
