/* SPDX-License-Identifier: MIT
 * Types that wait for their blocks; see type_rows.h. */
#include "live/drain/type_rows.h"

#include <string.h>

#include "live/drain/told.h"

enum {
	LOOSE_MAX = 1 << 16,
	LOOSE_LOOK = 1024, /* how far a birth looks back: rows come soon after it */
};

void type_rows_release(struct type_rows *self)
{
	vec_release(&self->out);
	vec_release(&self->loose);
}

struct type_loose type_loose_of(const struct told_record *told)
{
	return (struct type_loose){
		.address = told->record.address,
		.identity = told->record.size,
		.count = told->record.context,
		.ticks = (u32)told->record.ticks,
	};
}

bool type_rows_loosen(struct type_rows *self, const struct type_loose *loose)
{
	if (self->loose.count >= LOOSE_MAX) {
		self->unknown++;
		return true;
	}
	return vec_push(&self->loose, *loose);
}

bool type_rows_take(struct type_rows *self, const struct told_record *birth,
		    struct type_loose *loose)
{
	u64 count = self->loose.count, i = count > LOOSE_LOOK ? count - LOOSE_LOOK : 0;

	for (; i < count; i++) {
		*loose = self->loose.data[i];
		if (loose->serial != birth->serial)
			continue;
		memmove(&self->loose.data[i], &self->loose.data[i + 1],
			(count - i - 1) * sizeof(self->loose.data[0]));
		self->loose.count--;
		return true;
	}
	return false;
}
