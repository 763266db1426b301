/* SPDX-License-Identifier: GPL-2.0-or-later
 * Memory for sites; see sites.h. */
#include "target/valgrind/sites.h"

#include <pub_tool_hashtable.h>
#include <pub_tool_tooliface.h>

/* The sites of one call. */
struct call {
	struct call *next;
	struct site sites[];
};

struct translation {
	struct translation *next; /* both for Valgrind's table */
	UWord code;
	struct call *calls;
	Bool doubtful; /* another one of the same code was made before this one was forgotten */
};

static VgHashTable *translations;
static struct translation *present;

static struct block nobody = {.low = UINT64_MAX};

struct site *hwv_sites_new(u32 count)
{
	struct call *call =
		VG_(calloc)("heapwise.sites", 1, sizeof(*call) + count * sizeof(struct site));

	for (u32 i = 0; i < count; i++)
		call->sites[i].block = &nobody;
	call->next = present->calls;
	present->calls = call;
	return call->sites;
}

/* Code may be translated as it is and as what stands in for it. Which of both is forgotten first is
 * not told: the sites of both stay. */
void hwv_sites_begin(Addr code)
{
	present = VG_(HT_lookup)(translations, code);
	if (present) {
		present->doubtful = True;
		return;
	}
	present = VG_(calloc)("heapwise.translation", 1, sizeof(*present));
	present->code = code;
	VG_(HT_add_node)(translations, present);
}

static void forget(Addr code, VexGuestExtents extents)
{
	struct translation *translation = VG_(HT_lookup)(translations, code);
	struct call *next;

	(void)extents;
	if (!translation || translation->doubtful)
		return;
	VG_(HT_remove)(translations, code);
	for (struct call *call = translation->calls; call; call = next) {
		next = call->next;
		VG_(free)(call);
	}
	VG_(free)(translation);
}

void hwv_sites_init(void)
{
	translations = VG_(HT_construct)("heapwise.translations");
	VG_(needs_superblock_discards)(forget);
}
