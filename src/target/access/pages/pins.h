/* SPDX-License-Identifier: MIT
 * Memory that is open while a system call uses it. Runs in the target. A pin that is never taken
 * back, because a handler jumps out of the call or the thread is cancelled in it, leaves the unit
 * open for good: nothing is monitored wrongly. */
#ifndef TARGET_ACCESS_PAGES_PINS_H
#define TARGET_ACCESS_PAGES_PINS_H

#include "format/types.h"

enum { HWR_PINS = 24 };

struct hwr_pins {
	u32 count;
	u64 at[HWR_PINS];
};

/* The unit that an address of the heap lies in; others are passed over. */
void hwr_pin(struct hwr_pins *pins, u64 address);
void hwr_unpin(const struct hwr_pins *pins);

/* What struct iovec, struct msghdr, struct mmsghdr and NULL-terminated rows of texts lead to, and
 * they themselves. */
struct hwr_vector { /* struct iovec */
	u64 base, bytes;
};

struct hwr_message { /* struct msghdr */
	u64 name;
	u32 name_bytes, pad;
	const struct hwr_vector *vectors;
	u64 vectors_count;
	u64 control, control_bytes;
	i64 flags;
};

struct hwr_messages { /* struct mmsghdr */
	struct hwr_message message;
	u64 length;
};

void hwr_pin_vectors(struct hwr_pins *pins, const struct hwr_vector *vectors, u64 count);
void hwr_pin_message(struct hwr_pins *pins, const struct hwr_message *message);
void hwr_pin_messages(struct hwr_pins *pins, const struct hwr_messages *messages, u64 count);
void hwr_pin_texts(struct hwr_pins *pins, char *const *texts);

/* Of a struct whose layout is not known whatever looks like a pointer into the heap. */
void hwr_pin_words(struct hwr_pins *pins, const u64 *words, u64 bytes);

#endif
