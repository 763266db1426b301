/* SPDX-License-Identifier: MIT
 * Commands for the program's helper; see requests.h. Runs on the drain thread. */
#include "live/watch/requests.h"

#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "host/base/order.h"
#include "live/drain/image_tap.h"

void requests_release(struct requests *self) { vec_release(&self->waiting); }

bool requests_arm(struct requests *self, struct unit *unit)
{
	struct hw_command command = {.verb = HW_COMMAND_ARM};

	if (unit->armed || unit->asked || !unit->first)
		return true;
	command.address = unit->first->address;
	command.birth = unit->first->birth_ticks;
	if (!vec_push(&self->waiting, command))
		return false;
	unit->asked = true;
	return true;
}

bool requests_disarm_ended(struct requests *self, u64 address)
{
	struct hw_command command = {.verb = HW_COMMAND_DISARM, .address = address};

	return vec_push(&self->waiting, command);
}

bool requests_disarm(struct requests *self, struct unit *unit)
{
	if (!unit->armed && !unit->asked)
		return true;
	return requests_disarm_ended(self, unit->start);
}

bool requests_give(void *image, u32 verb, u64 address, u64 birth)
{
	return image_command(image, verb, address, birth);
}

static int by_page(const void *a, const void *b)
{
	const struct hw_command *x = a, *y = b;
	u64 left = x->address / HW_UNIT_PAGE, right = y->address / HW_UNIT_PAGE;

	return rising(left, right) ?: rising(x->pad, y->pad);
}

/* What lies beside each other is armed by one call of the kernel. What is asked for one unit keeps
 * its order. */
static void neighbours_together(struct requests *self)
{
	for (u64 i = 0; i < self->waiting.count; i++)
		self->waiting.data[i].pad = (u32)i;
	vec_sort(&self->waiting, by_page);
}

void requests_send(struct requests *self, bool (*give)(void *to, u32 verb, u64 address, u64 birth),
		   void *to)
{
	u64 sent = 0;

	neighbours_together(self);
	while (sent < self->waiting.count) {
		const struct hw_command *command = &self->waiting.data[sent];

		if (!give(to, command->verb, command->address, command->birth))
			break;
		sent++;
	}
	if (!sent)
		return;
	memmove(self->waiting.data, self->waiting.data + sent,
		(self->waiting.count - sent) * sizeof(*self->waiting.data));
	self->waiting.count -= sent;
}

/* The area by whose name the unit was armed may have ended since; its page is still armed if others
 * are in it. */
static struct unit *unit_meant(const struct areas *areas, const struct hw_command *command)
{
	const struct area *area = areas_find(areas, command->address);

	return area ? area->unit : areas_unit_at(areas, command->address);
}

void requests_done(struct requests *self, struct areas *areas, const struct hw_command *command)
{
	struct unit *unit = unit_meant(areas, command);
	u64 at = areas_ns(areas, command->ticks);

	if (!unit)
		return;
	if (command->verb == HW_COMMAND_DISARM) {
		areas_opened(areas, unit, at);
		return;
	}
	unit->asked = false;
	switch (command->result) {
	case HW_COMMAND_DONE:
		self->arms++;
		areas_armed(areas, unit, at);
		break;
	case HW_COMMAND_FULL: self->full++; break;
	default: self->refusals++;
	}
}

u64 pages_cost_ns(const struct hw_pages *pages, double ns_per_tick)
{
	return load_relaxed(&pages->hits) * load_relaxed(&pages->fault_ns) +
	       (u64)((double)load_relaxed(&pages->hit_ticks) * ns_per_tick) +
	       load_relaxed(&pages->arm_ns) + load_relaxed(&pages->open_ns);
}
