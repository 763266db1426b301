/* SPDX-License-Identifier: MIT
 * A picture of memory by what each byte is charged as at a look: live, free beside what is live …
 * and one page of it, with who holds it. Defined in docs/METHODS.md, "The bill". */
#ifndef STUDY_LAYOUT_MEMORY_ACCOUNT_H
#define STUDY_LAYOUT_MEMORY_ACCOUNT_H

#include "study/analysis/resident/accounting.h"
#include "study/layout/memory.h"

enum memory_account {
	ACCOUNT_LIVE,
	ACCOUNT_SLACK,
	ACCOUNT_LEFT,   /* pinned, and a block that was freed lay there */
	ACCOUNT_PINNED, /* no block ever lay there, on a page with a live one */
	ACCOUNT_CACHED,
	ACCOUNT_ABSENT,        /* live, and not resident */
	ACCOUNT_OTHER,         /* resident, not the allocator's */
	ACCOUNT_THREAD_CACHES, /* free, and kept for a thread */
	ACCOUNT_PINS,          /* live, and alone holds a page that is mostly free; not a sum */
	ACCOUNTS
};

const char *memory_account_name(enum memory_account account);

/* Makes the picture one of the allocator's mapping with most resident memory, which fills it as
 * well as a power of two can; width and height are the largest. A pass over the chunks. 0 or
 * ERR_MEMORY. */
int memory_account_fit(struct memory_query *query, const struct model *model,
		       const struct model_memory *look, struct err *err);

/* Paints pixels, legend and pages of the view. The blocks are all that the program had, whatever is
 * selected. Passes over the chunks three times. 0 or ERR_MEMORY. */
int memory_account_make(struct memory_view *self, const struct model *model,
			const struct model_memory *look, const struct memory_query *query,
			struct err *err);

/* What a point has on a page. */
struct memory_share {
	struct point_id point;
	u64 bytes, blocks;
	u64 chunk; /* one of them */
};

struct memory_page_detail { /* all zero = empty */
	u64 address;
	bool resident; /* and the allocator's */
	u64 bytes[ACCOUNTS];
	VEC(struct memory_share)
	holders;                       /* with live blocks there, headers and rounding included */
	VEC(struct memory_share) left; /* whose freed blocks were the last on free bytes */
};

/* Of the page with the address. 0 or ERR_MEMORY; released in either case. */
int memory_page_make(struct memory_page_detail *self, const struct model *model,
		     const struct model_memory *look, u64 address, struct err *err);
void memory_page_release(struct memory_page_detail *self);

#endif
