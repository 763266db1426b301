/* SPDX-License-Identifier: MIT
 * The loaded objects: what there is, which is ours, which an address lies in. Runs in the target.
 * The recorder is a library that is loaded before all others, or (HWR_LINKED: libheapwise.a) a part
 * of the program. */
#ifndef TARGET_RECORDER_STATE_OBJECTS_H
#define TARGET_RECORDER_STATE_OBJECTS_H

#include <link.h>

#include "format/types.h"
#include "target/recorder/state/own.h"

/* What surrounds a PC. */
struct hwr_module_at {
	u64 start, end;         /* mapped range, of all segments */
	const u8 *eh_frame_hdr; /* NULL if it has none */
	u64 base;               /* load bias */
	const char *name;       /* "" = the program itself */
};

/* Lookup of the module at pc; lock-free where the C library has _dl_find_object. */
bool hwr_module_at(u64 pc, struct hwr_module_at *module);

/* Once, before the first lookup that is kept: reads how far the program reaches. Takes the loader's
 * lock. */
void hwr_module_program_init(void);

/* Whether a call that returns to pc is one of the program's _start, which has no caller. Start
 * files of older C libraries have no CFI for it. */
bool hwr_is_program_start(u64 pc);

/* The content of the note of this type and name; NULL if it is not among those. */
const u8 *hwr_note_find(const u8 *note, u64 bytes, u32 type, const char *name, u32 *content_bytes);

/* True if this copy has nothing to do here: the program has one linked in, which records; or ours
 * is the one that is linked in, and the process has more rights than whoever started it. */
bool hwr_stands_back(void);

/* The first of the loaded objects, NULL if there is no list. Of a static program it is all there
 * is. */
const struct link_map *hwr_first_map(void);

#ifdef HWR_LINKED
/* Whether the program has no loader. */
bool hwr_is_static(void);
#else
static inline bool hwr_is_static(void) { return false; }
#endif

/* Whether the file name of a path starts with this. */
bool hwr_is_library(const char *path, const char *name);

/* Whether this object is nothing but the recorder. */
bool hwr_map_is_ours(const struct link_map *map);

/* Whether this object is or has this copy. */
bool hwr_map_has_us(const struct link_map *map);

/* Range of the recorder itself; its code at least. */
extern u64 hwr_own_start HWR_OWN, hwr_own_bytes HWR_OWN;

/* Sets hwr_own_start and hwr_own_bytes: our code, and in a library of ours all the rest. */
void hwr_own_find(void);

/* Calls told for each range of memory in which our variables are. */
void hwr_own_variables(void (*told)(void *start, size_t bytes));

#endif
