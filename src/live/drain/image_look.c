/* SPDX-License-Identifier: MIT
 * Looks into new objects of programs with threads for the pointers to their vtables; see
 * target/recorder/hooks/peek.h. Runs on the drain thread. Only reads, many objects with one system
 * call, and never waits.
 *
 * What was read belongs to the object only if that still lived then. Its free is published before
 * its memory goes back, so the answer is there once everything is drained that was stamped before
 * the end of the reading. A process that may not be read, or is another than its number says, is
 * left alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/uio.h>

#include "format/atomics.h"
#include "format/ticks.h"
#include "live/drain/image.h"

enum {
	LOOKS_MAX = 4096, /* that wait; more are forgotten */
	BATCH = 256,      /* read with one call */
};

int image_add_look(struct image *self, const struct hw_record *record, struct err *err)
{
	struct image_look look = {
		.address = record->address,
		.size = record->size,
		.birth = record->context,
		.array = (record->aux & HW_TYPE_PART) == HW_TYPE_LOOK_ARRAY,
		.site = record->aux >> HW_TYPE_NUMBER_SHIFT,
	};

	if (self->blind || self->looks.count >= LOOKS_MAX || look.size < 8 || self->aggregating)
		return 1;
	if (!vec_push(&self->looks, look))
		return err_memory_for(err, "types");
	return 1;
}

void image_forget_looks(struct image *self) { vec_clear(&self->looks); }

/* ---- reading --------------------------------------------------------------------------------- */

static u64 look_bytes(const struct image_look *look)
{
	return look->array && look->size >= 24 ? 24 : 8;
}

/* Reads so many objects, at most BATCH, after making sure of the process. Returns how many there
 * were before one that cannot be read; -1 if none ever can. */
static i64 batch_read(const struct image *self, struct image_look *looks, u64 count)
{
	const struct hw_control *control = self->berth.control;
	struct iovec local[BATCH + 1], remote[BATCH + 1];
	u64 witness = 0;
	i64 got, done;

	local[0] = (struct iovec){&witness, 8};
	remote[0] = (struct iovec){(void *)(uintptr_t)load_relaxed(&control->witness), 8};
	for (u64 i = 0; i < count; i++) {
		u64 bytes = look_bytes(&looks[i]);

		local[i + 1] = (struct iovec){looks[i].words, bytes};
		remote[i + 1] = (struct iovec){(void *)(uintptr_t)looks[i].address, bytes};
	}
	got = process_vm_readv((pid_t)self->berth.pid, local, count + 1, remote, count + 1, 0);
	if (got < 8 || witness != load_relaxed(&control->start_ticks))
		return -1;
	got -= 8;
	for (done = 0; done < (i64)count && got >= (i64)look_bytes(&looks[done]); done++)
		got -= (i64)look_bytes(&looks[done]);
	return done;
}

static void looks_read(struct image *self, u64 first)
{
	u64 at = first;

	while (at < self->looks.count && !self->blind) {
		u64 left = self->looks.count - at;
		u64 wanted = left < BATCH ? left : BATCH;
		i64 done = batch_read(self, &self->looks.data[at], wanted);
		u64 ticks = hw_ticks();

		if (done < 0)
			self->blind = true;
		for (i64 i = 0; i < done; i++)
			self->looks.data[at + (u64)i].read_ticks = ticks;
		at += done < 0 ? 0 : (u64)done;
		/* One that cannot be read is past its life. */
		if (done >= 0 && (u64)done < wanted)
			self->looks.data[at] = self->looks.data[--self->looks.count];
	}
	if (self->blind)
		self->looks.count = first;
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool points_into_module(const struct image *self, u64 word)
{
	if (word % 8 || word < HW_NAMES)
		return false;
	for (u64 i = 0; i < self->modules.count; i++) {
		const struct stream_module *module = &self->modules.data[i].told;

		if (word >= module->start && word < module->end && !module->unloaded_ticks)
			return true;
	}
	return false;
}

/* Which of the words is the first object's; 0 also if there is none. The cookie of an array, the
 * number of its elements, stands just before them. */
static u32 look_word(const struct image *self, const struct image_look *look)
{
	for (u32 i = 1; i < look_bytes(look) / 8 && !points_into_module(self, look->words[0]); i++)
		if (look->words[i - 1] && look->words[i - 1] <= (look->size - 8 * i) / 8 &&
		    points_into_module(self, look->words[i]))
			return i;
	return 0;
}

static void site_shows(struct image *self, u32 site)
{
	u32 *bits = &self->berth.control->sites_shown[site / 32];

	store_relaxed(bits, load_relaxed(bits) | 1u << site % 32);
}

static int look_tell(struct image *self, const struct image_look *look, struct err *err)
{
	u32 word = look_word(self, look);
	struct stream_type row = {
		.chunk = correlator_chunk_born(self->correlator, look->address, look->birth),
		.identity = look->words[word],
		.count = word ? look->words[word - 1] : 0,
		.offset = 8 * word,
		.source = TYPE_VTABLE,
	};

	if (row.chunk == NO_CHUNK || !points_into_module(self, row.identity))
		return 0;
	site_shows(self, look->site);
	return correlator_tell_type(self->correlator, &row, err);
}

int image_look(struct image *self, u64 ticks, struct err *err)
{
	u64 kept = 0;
	int status = 0;

	for (u64 i = 0; i < self->looks.count && status == 0; i++) {
		const struct image_look *look = &self->looks.data[i];

		if (look->read_ticks && look->read_ticks + self->margin_ticks < ticks)
			status = look_tell(self, look, err);
		else if (look->read_ticks || correlator_chunk_born(self->correlator, look->address,
								   look->birth) != NO_CHUNK)
			self->looks.data[kept++] = *look;
	}
	self->looks.count = kept;
	for (kept = 0; kept < self->looks.count && self->looks.data[kept].read_ticks;)
		kept++;
	if (status == 0 && kept < self->looks.count)
		looks_read(self, kept);
	return status;
}
