/* SPDX-License-Identifier: MIT
 * The desk: what hooks reach for at every turn, side by side on a large page. Runs in the target.
 * A program that uses much memory leaves the processor no room to remember where our small pages
 * are, and looking that up again takes longer than the fetch itself, twice so on a virtual
 * machine. */
#ifndef TARGET_RECORDER_STATE_DESK_H
#define TARGET_RECORDER_STATE_DESK_H

#include "format/types.h"

#define HWR_LARGE_PAGE (2ul << 20)

/* For a new image, before anything is taken. False if there is no memory. */
bool hwr_desk_open(void);

/* Zeroed memory, on the desk as long as there is room; NULL if there is none. It is never given
 * back. */
void *hwr_desk_take(size_t bytes);

/* Zeroed memory in large pages, where the system has them, that begins at a large page, with a
 * small page before it; NULL if there is none. */
void *hwr_map_large(size_t bytes);

/* Gives the content of such memory back. It reads as zeros then; the small page stays as it is. */
void hwr_clear_large(void *p, size_t bytes);

#endif
