/* SPDX-License-Identifier: MIT
 * Looks for vtables in new objects; see peek.h. Runs in the target. */
#include "target/recorder/hooks/peek.h"

#include "format/ticks.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/ring.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/modules.h"

enum {
	LOOKS = 3,
	SITE_WAYS = 4,   /* places next to each other that a site may be at */
	SITE_YOUNG = 32, /* until so many of its objects were looked into every context counts */
	/* of new contexts of a site that never showed a vtable one in so many, */
	SITE_HOPELESS = 32,
	SITE_SAME = 8, /* and of one that always showed the same */
};

/* What is known of all contexts that call operator new from one place. Programs that recurse make a
 * new context for nearly every object; looking into the first objects of each of them would be
 * looking into all. */
struct site {
	u64 pc;     /* 0 = nobody's */
	u64 word;   /* the first that was found by a last look; 0 = none yet */
	u32 looked; /* objects */
	u8 shows;   /* some word was found */
	u8 varies;  /* a last look found another */
};

static struct site *sites; /* HW_TYPE_SITES; threads may lose each other's counts */
u8 *hwr_peek_known;

/* Empty memory, that of before if it is large enough. */
static void *blank(void *before, u64 bytes_before, u64 bytes)
{
	if (!before || bytes_before < bytes)
		return hwr_map_private(bytes);
	hwr_madvise(before, bytes_before, MADV_DONTNEED); /* of the parent's contexts */
	return before;
}

void hwr_peek_attach(void)
{
	static u8 *counts;
	static u32 room;

	hwr_threads_many = 0; /* a forked child has one */
	hwr_peek_known = NULL;
	if (!(hwr_control->flags & HW_RUN_TYPES))
		return;
	counts = blank(counts, room, hwr_control->nodes_max);
	room = hwr_control->nodes_max;
	sites = blank(sites, sizeof *sites * HW_TYPE_SITES, sizeof *sites * HW_TYPE_SITES);
	if (sites)
		hwr_peek_known = counts;
}

/* The site of a context; one that finds no place shares another's. */
static struct site *site_of(u32 context)
{
	u64 pc = hwr_nodes[context].pc;
	u64 home = pc * 0x9e3779b97f4a7c15ull >> 32;
	struct site *site = sites;

	for (u32 way = 0; way < SITE_WAYS; way++) {
		site = &sites[(home + way) % HW_TYPE_SITES];
		if (!site->pc)
			site->pc = pc;
		if (site->pc == pc)
			break;
	}
	return site;
}

static u64 draw(struct hwr_thread *t)
{
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	return t->random >> 33;
}

/* How many of the first objects of a new context are looked into. */
static u32 quota(struct hwr_thread *t, const struct site *site)
{
	if (site->looked < SITE_YOUNG)
		return HWR_PEEK_FIRST;
	if (site->varies)
		return HWR_PEEK_FIRST / 4;
	return draw(t) % (site->shows ? SITE_SAME : SITE_HOPELESS) == 0;
}

static bool is_due(struct hwr_thread *t, u32 context)
{
	u8 *known = &hwr_peek_known[context];
	bool is_new = !*known;

	if (is_new)
		*known = (u8)(HWR_PEEK_DONE - quota(t, site_of(context)));
	if (hwr_peek_is_young(*known)) {
		(*known)++;
		return true;
	}
	if (is_new)
		return false;
	t->peek_left = HWR_PEEK_EVERY / 2 + (u32)draw(t) % HWR_PEEK_EVERY;
	return *known & HWR_PEEK_FOUND || draw(t) % HWR_PEEK_RARELY == 0;
}

void hwr_peek_add(struct hwr_thread *t, const struct hwr_peek *peek)
{
	u32 at = t->peek_count;

	if (!is_due(t, peek->context))
		return;
	if (at == HWR_PEEKS) { /* the oldest has been looked into most often */
		for (at = 0; at < HWR_PEEKS - 1; at++)
			t->peeks[at] = t->peeks[at + 1];
	} else {
		t->peek_count++;
	}
	t->peeks[at] = *peek;
	t->state |= HWR_PEEK;
	hwr_access_settle(peek->address);
}

static void put(struct hwr_thread *t, const struct hwr_peek *peek, u32 aux, u64 offset, u64 size)
{
	hwr_ring_put(t, &(struct hw_record){
				.ticks = hwr_stamp_now(t),
				.address = peek->address + offset,
				.size = size,
				.context = peek->birth,
				.kind = HW_TYPE,
				.flags = t->is_nested ? HW_RECORD_NESTED : 0,
				.aux = (u16)aux,
			});
}

/* What was found, unless it is what was told before. */
static void tell(struct hwr_thread *t, struct hwr_peek *peek, u32 aux, u64 offset, u64 word)
{
	if (peek->found != word)
		put(t, peek, aux, offset, word);
	peek->found = word;
}

static u64 word_at(const struct hwr_peek *peek, u64 offset)
{
	if (offset + 8 > peek->size || !hwr_readable(peek->address + offset))
		return 0;
	return *(const volatile u64 *)(peek->address + offset);
}

/* Whether the word can point to a vtable; its module is announced then. */
static bool points_into_module(u64 word)
{
	struct hwr_module_at module;

	return word && word % 8 == 0 && hwr_module_at(word, &module) && hwr_modules_saw(&module);
}

/* Arrays of objects that have destructors begin with their number, which is followed by padding if
 * the objects are aligned to 16 bytes. */
static bool look_behind_cookie(struct hwr_thread *t, struct hwr_peek *peek, u64 offset)
{
	u64 number = word_at(peek, offset - 8), word;

	if (!number || number > (peek->size - offset) / 8)
		return false;
	word = word_at(peek, offset);
	if (!points_into_module(word))
		return false;
	tell(t, peek,
	     HW_TYPE_VTABLE |
		     (number <= HW_TYPE_NUMBER_MAX ? (u32)number << HW_TYPE_NUMBER_SHIFT : 0),
	     offset, word);
	return true;
}

static bool look(struct hwr_thread *t, struct hwr_peek *peek)
{
	u64 word = word_at(peek, 0);

	if (points_into_module(word)) {
		tell(t, peek, HW_TYPE_VTABLE, 0, word);
		return true;
	}
	return peek->array && peek->size >= 24 &&
	       (look_behind_cookie(t, peek, 8) || look_behind_cookie(t, peek, 16));
}

/* Looks once more, and learns what to expect of its site. */
static void look_again(struct hwr_thread *t, struct hwr_peek *peek)
{
	struct site *site = site_of(peek->context);

	site->looked += !peek->looks++;
	if (!look(t, peek))
		return;
	hwr_peek_known[peek->context] |= HWR_PEEK_FOUND;
	site->shows = 1;
	if (peek->looks < LOOKS)
		return; /* maybe it is only a base of it so far */
	if (!site->word)
		site->word = peek->found;
	site->varies |= site->word != peek->found;
}

/* Has the monitor look, and learns what it found at this site before. */
static void ask(struct hwr_thread *t, struct hwr_peek *peek)
{
	struct site *site = site_of(peek->context);
	u32 number = (u32)(site - sites);

	site->looked += !peek->looks++;
	if (load_relaxed(&hwr_control->sites_shown[number / 32]) >> number % 32 & 1)
		site->shows = site->varies = 1; /* what was shown is not known here */
	put(t, peek,
	    (peek->array ? HW_TYPE_LOOK_ARRAY : HW_TYPE_LOOK) | number << HW_TYPE_NUMBER_SHIFT, 0,
	    peek->size);
}

void hwr_peek(struct hwr_thread *t, u64 ending)
{
	u32 kept = 0;

	t->state = (t->state & ~(u32)HWR_PEEK) | HWR_BUSY;
	for (u32 i = 0; i < t->peek_count; i++) {
		struct hwr_peek *peek = &t->peeks[i];

		if (peek->address == ending)
			continue;
		if (load_relaxed(&hwr_threads_many))
			ask(t, peek);
		else
			look_again(t, peek);
		if (peek->looks < LOOKS)
			t->peeks[kept++] = *peek;
	}
	t->peek_count = kept;
	t->state &= ~(u32)(HWR_BUSY | HWR_PEEK);
}

void hwr_peek_leave(void)
{
	struct hwr_thread *t = hwr_self;

	if (load_relaxed(&hwr_token.on) && t && t->peek_count && !(t->state & HWR_BUSY) &&
	    hwr_getpid() == hwr_pid)
		hwr_peek(t, 0);
}
