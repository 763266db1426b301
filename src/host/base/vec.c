/* SPDX-License-Identifier: MIT
 * Growth of arrays, checked for overflow. Runs on the host. Never shrinks. */
#include "host/base/vec.h"

#include <string.h>

bool vec_grow(void **data, u64 *capacity, u64 count, u64 extra, u64 size)
{
	u64 wanted, bytes;
	void *grown;

	if (__builtin_add_overflow(count, extra, &wanted))
		return false;
	if (wanted <= *capacity)
		return true;
	if (wanted < *capacity + *capacity / 2)
		wanted = *capacity + *capacity / 2;
	if (wanted < 8)
		wanted = 8;
	if (__builtin_mul_overflow(wanted, size, &bytes) || bytes > PTRDIFF_MAX)
		return false;
	grown = realloc(*data, bytes);
	if (!grown)
		return false;
	*data = grown;
	*capacity = wanted;
	return true;
}

void vec_zero(void *data, u64 from, u64 to, u64 size)
{
	memset((u8 *)data + from * size, 0, (to - from) * size);
}
