/* SPDX-License-Identifier: MIT
 * Types that the program tells: records out of the rings on their way to the correlator; see
 * image.h. Runs on the drain thread. */
#include "live/drain/image.h"

/* The record is whole: its context says how many elements there are, 0 = unknown. */
static int type_whole(struct image *self, struct hw_record *record, u64 identity, u64 count,
		      struct err *err)
{
	if (!identity || !record->address) {
		self->damaged++;
		return 1;
	}
	record->size = identity;
	record->context = count < UINT32_MAX ? (u32)count : 0;
	return identity < HW_NAMES ? image_tell_name(self, (u32)identity, err) : 0;
}

int image_add_type(struct image *self, struct slot_cursor *slot, bool nested,
		   struct hw_record *record, struct err *err)
{
	struct type_begun *begun = &slot->types[nested];
	struct type_begun before = *begun;

	*begun = (struct type_begun){0};
	switch (record->aux & HW_TYPE_PART) {
	case HW_TYPE_VTABLE: /* may come between the parts of another */
		*begun = before;
		return record->size < HW_NAMES;
	case HW_TYPE_LOOK:
	case HW_TYPE_LOOK_ARRAY: *begun = before; return image_add_look(self, record, err);
	case HW_TYPE_BARE:
	case HW_TYPE_ONE:
		return type_whole(self, record, record->size, record->aux == HW_TYPE_ONE, err);
	case HW_TYPE_FIRST: *begun = (struct type_begun){record->address, record->size}; return 1;
	case HW_TYPE_COUNT:
		if (before.address == record->address)
			return type_whole(self, record, before.identity, record->size, err);
		break;
	}
	self->damaged++;
	return 1;
}
