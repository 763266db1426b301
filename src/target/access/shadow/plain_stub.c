/* SPDX-License-Identifier: MIT
 * What `heapwise cc` links into a module that has code without checks, too: a note of it, which the
 * monitor reads. */
#include "format/shadow.h"

static const struct {
	u32 name_bytes, content_bytes, type;
	char name[12];
	u32 version;
} note __attribute__((section(".note.heapwise"), aligned(4), used)) = {
	sizeof(HW_NOTE_NAME), 4, HW_NOTE_PLAIN, HW_NOTE_NAME, HW_BOARD_VERSION,
};
