/* SPDX-License-Identifier: MIT
 * Memory that is open while a system call uses it; see pins.h. Runs in the target. */
#include "target/access/pages/pins.h"

#include "target/access/pages/pages.h"
#include "target/access/pages/units.h"
#include "target/access/pages/userfault.h"
#include "target/recorder/state/sys.h"

enum { VECTORS_MAX = 1024, WORDS_MAX = 64, STACK_NEAR = 16384 };

void hwr_pin(struct hwr_pins *pins, u64 address)
{
	/* by that a system call waits as all others do */
	if (likely(!hwr_heap_has(address)) || hwr_userfault_on())
		return;
	if (pins->count == HWR_PINS) { /* of very scattered memory the rest is never armed again */
		hwr_unit_keep(address);
		return;
	}
	hwr_pages_pin(address);
	pins->at[pins->count++] = address;
}

void hwr_unpin(const struct hwr_pins *pins)
{
	for (u32 i = 0; i < pins->count; i++)
		hwr_pages_unpin(pins->at[i]);
}

/* Whether that many bytes can be read, or at least their ends: if not the kernel will say so. The
 * heap and the stack, where they mostly are, need not be asked for. */
static bool is_there(struct hwr_pins *pins, const void *p, u64 bytes)
{
	hwr_pin(pins, (u64)p);
	if (!p || !bytes)
		return false;
	if (hwr_heap_has((u64)p) || (u64)p - (u64)__builtin_frame_address(0) < STACK_NEAR)
		return true;
	return hwr_readable((u64)p) && hwr_readable((u64)p + bytes - 8);
}

void hwr_pin_vectors(struct hwr_pins *pins, const struct hwr_vector *vectors, u64 count)
{
	count = count < VECTORS_MAX ? count : VECTORS_MAX;
	if (!is_there(pins, vectors, count * sizeof(*vectors)))
		return;
	for (u64 i = 0; i < count; i++)
		if (vectors[i].bytes)
			hwr_pin(pins, vectors[i].base);
}

void hwr_pin_message(struct hwr_pins *pins, const struct hwr_message *message)
{
	if (!is_there(pins, message, sizeof(*message)))
		return;
	hwr_pin(pins, message->name);
	hwr_pin(pins, message->control);
	hwr_pin_vectors(pins, message->vectors, message->vectors_count);
}

void hwr_pin_messages(struct hwr_pins *pins, const struct hwr_messages *messages, u64 count)
{
	hwr_pin(pins, (u64)messages);
	for (u64 i = 0; messages && i < count && i < VECTORS_MAX; i++)
		hwr_pin_message(pins, &messages[i].message);
}

void hwr_pin_texts(struct hwr_pins *pins, char *const *texts)
{
	hwr_pin(pins, (u64)texts);
	for (; texts && *texts; texts++)
		hwr_pin(pins, (u64)*texts);
}

void hwr_pin_words(struct hwr_pins *pins, const u64 *words, u64 bytes)
{
	u64 count = bytes / sizeof(*words);

	if (!is_there(pins, words, count * sizeof(*words)) || (u64)words % sizeof(*words))
		return;
	for (u64 i = 0; i < count && i < WORDS_MAX; i++)
		hwr_pin(pins, words[i]);
}
