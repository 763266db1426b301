/* SPDX-License-Identifier: MIT
 * Hits out of the rings, commands into theirs; see image_tap.h. Runs on the drain thread. */
#include "live/drain/image_tap.h"

#include "format/atomics.h"
#include "host/base/clock.h"
#include "live/drain/futex.h"
#include "live/drain/image.h"

/* ---- commands -------------------------------------------------------------------------------- */

const struct hw_pages *image_pages(const struct image *self)
{
	const struct hw_pages *pages = &self->berth.control->pages;

	return load_relaxed(&pages->helper_tid) ? pages : NULL;
}

void image_allow(struct image *self, u64 spend_most, u64 fault_ticks, u64 arm_most_ns)
{
	struct hw_pages *pages = &self->berth.control->pages;

	if (!image_pages(self))
		return;
	store_relaxed(&pages->fault_ticks, fault_ticks);
	store_relaxed(&pages->arm_most_ns, arm_most_ns);
	store_relaxed(&pages->spend_most, spend_most);
}

void image_want_scan(struct image *self) { self->scan_wanted = true; }

void image_allow_around(struct image *self, u64 around_most)
{
	if (image_pages(self))
		store_relaxed(&self->berth.control->pages.around_most, around_most);
}

void image_tell_all(struct image *self)
{
	u32 *flags = &self->berth.control->flags;

	store_relaxed(flags, load_relaxed(flags) & ~(u32)HW_RUN_LASTING);
}

struct tap_unread image_unread(const struct image *self) { return self->unread; }

bool image_main_returned(const struct image *self)
{
	const struct hw_control *control = self->berth.control;

	return load_acquire(&control->leaving) != HW_LEAVING_NOT &&
	       load_relaxed(&control->main_returned);
}

u64 image_cpu_ns(const struct image *self)
{
	clockid_t clock;

	return clock_getcpuclockid((pid_t)self->berth.pid, &clock) == 0 ? clock_ns(clock) : 0;
}

bool image_command(struct image *self, u32 verb, u64 address, u64 birth)
{
	struct hw_command *commands = berth_commands(&self->berth);

	if (!image_pages(self) || self->commands_given - self->commands_done >= HW_COMMANDS)
		return false;
	commands[self->commands_given % HW_COMMANDS] = (struct hw_command){
		.address = address,
		.birth = birth,
		.verb = (u16)verb,
	};
	self->commands_given++;
	return true;
}

u64 image_commands_waiting(const struct image *self)
{
	u64 waiting = self->commands_given - load_relaxed(&self->berth.control->pages.tail);

	return waiting <= HW_COMMANDS ? waiting : 0; /* the tail is the program's word */
}

/* Release: pairs with the helper's acquire of head. */
static void commands_send(struct image *self)
{
	struct hw_pages *pages = &self->berth.control->pages;

	if (load_relaxed(&pages->head) == self->commands_given)
		return;
	store_release(&pages->head, self->commands_given);
	add_acq_rel(&pages->bell, 1);
	futex_wake(&pages->bell, 1);
}

/* The tail is the program's word: it is not followed beyond what was given. */
static void commands_collect(struct image *self)
{
	const struct hw_command *commands = berth_commands(&self->berth);
	u64 tail = load_acquire(&self->berth.control->pages.tail);

	if (tail > self->commands_given)
		tail = self->commands_given;
	for (; self->commands_done < tail; self->commands_done++) {
		struct hw_command command = commands[self->commands_done % HW_COMMANDS];

		if (command.ticks >= self->read_ticks)
			break; /* births and hits that came before it are still to be read */
		if (self->tap->done)
			self->tap->done(self->tap->self, &command);
	}
}

/* ---- the cycle ------------------------------------------------------------------------------- */

int image_add_hit(struct image *self, const struct hw_record *record, struct err *err)
{
	struct tap_hit hit = {
		.ticks = record->ticks,
		.address = record->address,
		.context = record->context,
		.flags = record->aux,
	};

	if (self->tap && !vec_push(&self->hits, hit))
		return err_memory_for(err, "hits");
	return 1;
}

/* Both ends of the ring are in memory of the program's: no more is believed than fits into it. */
static void writes_collect(struct image *self)
{
	struct hw_pages *pages = &self->berth.control->pages;
	const struct hw_write *writes = berth_writes(&self->berth);
	u64 head = load_acquire(&pages->writes_head), tail = self->writes_read;

	if (head - tail > HW_WRITES)
		tail = head - HW_WRITES;
	for (; tail != head; tail++) {
		const struct hw_write *one = &writes[tail % HW_WRITES];
		struct tap_hit hit = {.ticks = one->ticks,
				      .address = one->address,
				      .flags = HW_HIT_WRITE};

		if (!vec_push(&self->hits, hit))
			break;
	}
	self->writes_read = tail;
	store_release(&pages->writes_tail, tail);
}

void image_tap_cycle(struct image *self, struct err *err)
{
	if (correlator_flush(self->correlator, err) < 0)
		return;
	writes_collect(self);
	commands_collect(self);
	for (u64 i = 0; self->tap->hit && i < self->hits.count; i++)
		self->tap->hit(self->tap->self, &self->hits.data[i]);
	vec_clear(&self->hits);
	if (self->tap->cycle)
		self->tap->cycle(self->tap->self, self, now_ns());
	commands_send(self);
}
