/* SPDX-License-Identifier: MIT
 * The validated incremental walk. Runs in the target; no lock, no recursion, no system call unless
 * the general unwinder is needed.
 *
 * The thread keeps its last stack. A new walk goes outwards from the caller until it meets a kept
 * frame with the same PC and SP (and FP, where an outer CFA still needs it); if then every stack
 * slot that the kept frames were read from holds its old value, the rest of the stack is the same
 * by induction, and its context node is reused. No return address is ever patched: exceptions,
 * longjmp, coroutines and signals only make the comparison fail. */
#include "target/recorder/unwind/walk.h"

#include "target/recorder/state/context.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/fresh.h"
#include "target/recorder/unwind/modules.h"

struct walk {
	struct hwr_thread *t;
	u64 pc, sp, fp;
	u32 fresh; /* frames in t->fresh */
	i64 kept;  /* kept frames that may still match: below this index */
	u32 base;  /* kept frames that matched */
	u32 max_depth;
};

enum walk_end { WALK_DONE, WALK_CUT, WALK_NEEDS_SLOW };

static const u64 *frame_slot(const struct hwr_frame *f, u32 at)
{
	return (const u64 *)(f->sp + at);
}

static u64 check_difference(const struct hwr_check *c) { return *c->slot ^ c->value; }

/* The number of checks, counted from the outermost, that could not be confirmed; 0 = all hold. A
 * slot is read only if all inner ones hold, or are on its page: see hwr_memo_holds. */
static u32 failing_checks(const struct hwr_check *checks, u32 count)
{
	const struct hwr_check *c = checks + count;

	while (c - checks >= 4 && !(((u64)c[-1].slot ^ (u64)c[-4].slot) / HWR_PAGE) &&
	       !(check_difference(c - 1) | check_difference(c - 2) | check_difference(c - 3) |
		 check_difference(c - 4)))
		c -= 4;
	while (c > checks && *c[-1].slot == c[-1].value)
		c--;
	return (u32)(c - checks);
}

bool hwr_memo_base_holds(const struct hwr_thread *t, const struct hwr_memo *m)
{
	const struct hwr_frame *f = &t->frames[m->base - 1];

	return t->depth >= m->base && f->node == m->base_node && f->sp == m->base_sp &&
	       (!f->fp_live || f->fp == m->base_fp) && failing_checks(t->checks, f->check_end) == 0;
}

/* Kept frame `index` is the present one, but a slot of it or of an outer one changed: takes over
 * the frames up to the one whose slot it is, and goes on from its caller. */
static bool resume_after(struct walk *w, u32 index, u32 failing)
{
	struct hwr_thread *t = w->t;
	const struct hwr_frame *last;

	for (;; index--) {
		struct hwr_frame *f = &t->fresh[w->fresh];

		if (w->fresh++ >= w->max_depth)
			return false;
		*f = t->frames[index];
		f->fp = w->fp;
		if (f->cfa_at != HWR_NO_SLOT && *frame_slot(f, f->cfa_at) != f->cfa)
			return false; /* even the CFA is another one: not worth a special case */
		if (f->fp_at != HWR_NO_SLOT)
			w->fp = *frame_slot(f, f->fp_at);
		last = f;
		if (index == 0 || t->frames[index - 1].check_end < failing)
			break;
	}
	w->pc = hwr_strip(*frame_slot(last, last->ra_at));
	w->sp = last->cfa;
	w->kept = index;
	return true;
}

/* Looks whether the kept stack goes on from here. */
static bool meets_kept(struct walk *w, bool *resumed)
{
	struct hwr_thread *t = w->t;
	const struct hwr_frame *f;
	u32 failing;

	*resumed = false;
	while (w->kept > 0 && t->frames[w->kept - 1].sp < w->sp)
		w->kept--;
	if (w->kept == 0)
		return false;
	f = &t->frames[w->kept - 1];
	if (f->sp != w->sp || f->pc != w->pc || (f->fp_live && f->fp != w->fp))
		return false;
	failing = failing_checks(t->checks, f->check_end);
	if (likely(failing == 0)) {
		w->base = (u32)w->kept;
		return true;
	}
	if (f->ra_at == HWR_NO_SLOT)
		return false;
	*resumed = true;
	return resume_after(w, (u32)w->kept - 1, failing);
}

/* Whether the stack can be read from sp up to `end`. The word below sp is in a live frame; other
 * pages are asked for once: the CFA of a hand-made outermost frame may lie beyond its stack. */
static bool reachable(struct hwr_thread *t, u64 sp, u64 end)
{
	u64 page = (sp - 8) & -HWR_PAGE, last = (end - 8) & -HWR_PAGE;

	if (likely(page == last || (page >= t->safe_low && last < t->safe_high)))
		return true;
	if (page < t->safe_low || page >= t->safe_high) {
		t->safe_low = page;
		t->safe_high = page + HWR_PAGE;
	}
	for (; t->safe_high <= last; t->safe_high += HWR_PAGE)
		if (!hwr_readable(t->safe_high))
			return false;
	return true;
}

/* Unwinds one frame by its compiled rule. */
static bool step_frame(struct walk *w, u32 rule)
{
	struct hwr_frame *f = &w->t->fresh[w->fresh];
	struct hwr_step step;

	if (unlikely(!hwr_rule_apply(rule, w->sp, w->fp, &step)) ||
	    step.cfa - w->sp >= HWR_NO_SLOT || !reachable(w->t, w->sp, step.cfa))
		return false;
	f->pc = w->pc;
	f->sp = w->sp;
	f->fp = w->fp;
	f->cfa = step.cfa;
	f->ra_at = (u32)((u64)step.ra_slot - w->sp);
	f->fp_at = HWR_NO_SLOT;
	f->cfa_at = HWR_NO_SLOT;
	f->uses_fp = step.uses_fp;
	w->pc = hwr_strip(*step.ra_slot);
	if (step.cfa_slot)
		f->cfa_at = (u32)((u64)step.cfa_slot - w->sp);
	if (step.fp_slot) {
		f->fp_at = (u32)((u64)step.fp_slot - w->sp);
		w->fp = *step.fp_slot;
	}
	w->sp = step.cfa;
	w->fresh++;
	return true;
}

/* The outermost frame has no caller and nothing to check. */
static void end_frame(struct walk *w)
{
	w->t->fresh[w->fresh++] = (struct hwr_frame){
		.pc = w->pc,
		.sp = w->sp,
		.fp = w->fp,
		.ra_at = HWR_NO_SLOT,
		.fp_at = HWR_NO_SLOT,
		.cfa_at = HWR_NO_SLOT,
	};
}

static enum walk_end walk_outwards(struct walk *w)
{
	for (;;) {
		bool resumed;
		u32 rule;

		if (meets_kept(w, &resumed))
			if (!resumed)
				return WALK_DONE;
			else
				continue;
		else if (resumed)
			return WALK_NEEDS_SLOW;
		if (unlikely(w->fresh >= w->max_depth))
			return WALK_CUT;
		if (unlikely(w->pc == 0))
			return WALK_DONE;
		rule = hwr_rule_of(w->pc, &w->t->scratch);
		if (unlikely(rule & HWR_RULE_SPECIAL)) {
			if (!(rule & HWR_RULE_END))
				return WALK_NEEDS_SLOW;
			end_frame(w);
			return WALK_DONE;
		}
		if (unlikely(!step_frame(w, rule)))
			return WALK_NEEDS_SLOW;
	}
}

/* ---- from frames to a node ---- */

static u32 add_check(struct hwr_thread *t, u32 end, const u64 *slot)
{
	t->checks[end] = (struct hwr_check){slot, *slot};
	return end + 1;
}

/* Appends a fresh frame to the kept stack. Checks are verified from the highest index down, so the
 * slot that the CFA came from goes last. */
static void keep_frame(struct hwr_thread *t, struct hwr_frame *to, const struct hwr_frame *from,
		       const struct hwr_frame *outer)
{
	u32 end = outer ? outer->check_end : 0;
	bool outer_needs_fp = outer && outer->fp_live;

	to->pc = from->pc;
	to->sp = from->sp;
	to->fp = from->fp;
	to->cfa = from->cfa;
	to->hash = from->hash;
	to->ra_at = from->ra_at;
	to->fp_at = from->fp_at;
	to->cfa_at = from->cfa_at;
	to->uses_fp = from->uses_fp;
	if (from->fp_at != HWR_NO_SLOT && outer_needs_fp)
		end = add_check(t, end, frame_slot(from, from->fp_at));
	if (likely(from->ra_at != HWR_NO_SLOT))
		end = add_check(t, end, frame_slot(from, from->ra_at));
	if (unlikely(from->cfa_at != HWR_NO_SLOT))
		end = add_check(t, end, frame_slot(from, from->cfa_at));
	to->check_end = (u16)end;
	to->fp_live = from->uses_fp || (from->fp_at == HWR_NO_SLOT && outer_needs_fp);
}

static u32 keep_stack(struct walk *w)
{
	struct hwr_thread *t = w->t;
	const struct hwr_frame *outer = w->base ? &t->frames[w->base - 1] : NULL;
	u32 node = outer ? outer->node : hwr_root_node;
	u32 depth = w->base;

	hwr_fresh_look_up(t, w->fresh, outer ? outer->hash : hwr_root_hash);
	for (u32 i = w->fresh; i-- > 0; depth++) {
		struct hwr_frame *f = &t->frames[depth];

		keep_frame(t, f, &t->fresh[i], outer);
		node = hwr_context_confirm(t->fresh[i].node, node, f->pc, f->hash);
		f->node = node;
		outer = f;
	}
	t->depth = depth;
	return node;
}

/* The place of the next groups, HWR_MEMO_GROUPS_EACH of them in one piece. */
static u32 memo_room(struct hwr_thread *t)
{
	u32 left = t->memo_mask + 1 - (t->memo_head & t->memo_mask);

	if (left < HWR_MEMO_GROUPS_EACH)
		t->memo_head += left;
	return t->memo_head;
}

/* Adds a slot to the stack's groups, of which there are `groups`, the last with `used` slots. False
 * if there is no room. */
static bool memo_add(struct hwr_memo_group *first, u32 *groups, u32 *used, u64 sp,
		     const struct hwr_check *c)
{
	struct hwr_memo_group *group = first + *groups - 1;
	u64 at = ((u64)c->slot - sp) / 8;

	if (at > UINT16_MAX)
		return false;
	if (*groups == 0 || *used == HWR_MEMO_SLOTS ||
	    ((sp + 8 * (u64)group->at[0]) ^ (u64)c->slot) / HWR_PAGE) {
		if (*groups == HWR_MEMO_GROUPS_EACH)
			return false;
		group = first + (*groups)++;
		for (u32 i = 0; i < HWR_MEMO_SLOTS; i++) {
			group->at[i] = (u16)at;
			group->value[i] = c->value;
		}
		*used = 1;
		return true;
	}
	group->at[*used] = (u16)at;
	group->value[(*used)++] = c->value;
	return true;
}

/* The stack that is kept now, of whose frames the outer `base` were kept before. If these are few
 * it stands on its own: it is compared faster then, and does not depend on what is kept. */
static void memorize(struct hwr_thread *t, const struct hwr_caller *caller, u32 base,
		     struct hwr_memo *m)
{
	const struct hwr_frame *innermost = &t->frames[t->depth - 1];
	const struct hwr_frame *outer = base && t->frames[base - 1].check_end >= HWR_MEMO_DEEP
						? &t->frames[base - 1]
						: NULL;
	const struct hwr_check *end = t->checks + (outer ? outer->check_end : 0);
	struct hwr_memo_group *first;
	u32 groups = 0, used = 0;
	bool fits = true;

	m->pc = 0;
	m->position = memo_room(t);
	first = t->memo_groups + (m->position & t->memo_mask);
	for (const struct hwr_check *c = t->checks + innermost->check_end; fits && c-- > end;)
		fits = memo_add(first, &groups, &used, caller->sp, c);
	t->memo_head += groups; /* so that nobody trusts what was overwritten */
	if (!fits)
		return;
	m->sp = caller->sp;
	m->fp = caller->fp;
	m->fp_live = innermost->fp_live;
	m->node = innermost->node;
	m->base = outer ? base : 0;
	m->base_node = outer ? outer->node : 0;
	m->base_sp = outer ? outer->sp : 0;
	m->base_fp = outer ? outer->fp : 0;
	m->epoch = t->epoch;
	m->groups = (u16)groups;
	m->pc = caller->pc;
}

/* ---- stacks of one caller ---- */

/* Can be read: the word below sp is the caller's, in a frame that is live. */
static bool is_on_page(u64 sp, u64 slot) { return ((sp - 8) ^ slot) / HWR_PAGE == 0; }

static struct hwr_memo_apart *memo_apart(struct hwr_thread *t, const struct hwr_caller *caller)
{
	return &t->memo_apart[hwr_caller_hash(caller) >> 56];
}
_Static_assert(HWR_MEMO_APARTS == 1 << (64 - 56), "memo_apart leaves 8 bits");

struct hwr_memo *hwr_memo_set(struct hwr_thread *t, const struct hwr_caller *caller)
{
	static const u64 factors[HWR_MEMO_APART_SLOTS] = {
		0xd6e8feb86659fd93ull, 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull,
		0x8ebc6af09c88c6e3ull, 0x589965cc75374cc3ull, 0x1d8e4e27c47d124full,
	};
	const struct hwr_memo_apart *apart = memo_apart(t, caller);
	u64 hash = hwr_caller_hash(caller);

	for (u32 i = 0; i < apart->count; i++) {
		u64 slot = caller->sp + 8 * (u64)apart->at[i];

		if (likely(is_on_page(caller->sp, slot)))
			hash += *(const u64 *)slot * factors[i];
	}
	return &t->memo[(hash >> t->memo_shift) * HWR_MEMO_WAYS];
}

static bool memo_is_of(const struct hwr_memo *m, const struct hwr_caller *caller)
{
	return m->pc == caller->pc && m->sp == caller->sp;
}

static bool set_is_crowded(struct hwr_thread *t, const struct hwr_caller *caller)
{
	const struct hwr_memo *set = hwr_memo_set(t, caller);
	u32 count = 0;

	for (u32 way = 0; way < HWR_MEMO_WAYS; way++)
		count += memo_is_of(&set[way], caller);
	return count == HWR_MEMO_WAYS;
}

static bool apart_has(const struct hwr_memo_apart *apart, u64 at)
{
	for (u32 i = 0; i < apart->count; i++)
		if (apart->at[i] == at)
			return true;
	return false;
}

/* The stack that is kept now takes the place of m's. If it is one of many of this caller, looks for
 * a slot that both were read from and that differs, so that such stacks go to different sets from
 * now on. */
static void tell_apart(struct hwr_thread *t, const struct hwr_caller *caller,
		       const struct hwr_memo *m)
{
	struct hwr_memo_apart *apart = memo_apart(t, caller);
	const struct hwr_memo_group *group = t->memo_groups + (m->position & t->memo_mask);
	const struct hwr_check *c = t->checks + t->frames[t->depth - 1].check_end;

	if (apart->count == HWR_MEMO_APART_SLOTS || t->memo_head - m->position > t->memo_mask + 1 ||
	    !set_is_crowded(t, caller))
		return;
	for (u32 i = 0; i < m->groups * (u32)HWR_MEMO_SLOTS; i++) {
		u64 at = group[i / HWR_MEMO_SLOTS].at[i % HWR_MEMO_SLOTS];
		u64 slot = caller->sp + 8 * at;

		if (at > UINT8_MAX || !is_on_page(caller->sp, slot))
			return;
		while (c > t->checks && (u64)c[-1].slot < slot)
			c--;
		if (c == t->checks)
			return;
		if ((u64)c[-1].slot != slot ||
		    c[-1].value == group[i / HWR_MEMO_SLOTS].value[i % HWR_MEMO_SLOTS] ||
		    apart_has(apart, at))
			continue;
		apart->at[apart->count++] = (u8)at;
		return;
	}
}

/* ---- a walk ---- */

static u32 walk_once(struct hwr_thread *t, const struct hwr_caller *caller, struct hwr_memo *memo)
{
	struct walk w = {
		.t = t,
		.pc = caller->pc,
		.sp = caller->sp,
		.fp = caller->fp,
		.kept = t->depth,
		.max_depth = hwr_control->max_depth,
	};
	enum walk_end end = walk_outwards(&w);
	u32 node;

	if (unlikely(end == WALK_NEEDS_SLOW))
		return hwr_walk_slowly(t, caller, w.max_depth);
	if (unlikely(end == WALK_CUT || w.base + w.fresh > w.max_depth)) {
		while (w.base > 0 && w.fresh < w.max_depth) {
			t->fresh[w.fresh].sp = t->frames[--w.base].sp;
			t->fresh[w.fresh++].pc = t->frames[w.base].pc;
		}
		t->fresh_count = w.fresh;
		hwr_walk_fault(t, HW_FAULT_STACK_CUT);
		return hwr_stack_node(t, w.fresh, true);
	}
	node = keep_stack(&w);
	if (likely(t->depth > 0)) {
		if (memo_is_of(memo, caller))
			tell_apart(t, caller, memo);
		memorize(t, caller, w.base, memo);
	}
	return node;
}

u32 hwr_walk_stack(struct hwr_thread *t, const struct hwr_caller *caller, struct hwr_memo *memo)
{
	/* Calls from the loader may mean that modules went away: they are never answered by the
	 * memo and make us look before any cache is trusted again. */
	bool from_loader = caller->pc - hwr_loader_start < hwr_loader_bytes;
	u32 node;

	if (unlikely(from_loader))
		hwr_modules_check();
	else
		hwr_bindings_look();
	do {
		u32 epoch = load_acquire(&hwr_epoch);

		if (unlikely(t->epoch != epoch)) {
			t->epoch = epoch;
			t->depth = 0;
		}
		node = walk_once(t, caller, memo);
		/* A module was replaced while we looked: the frames may hang below the wrong
		 * root. */
	} while (unlikely(load_relaxed(&hwr_epoch) != t->epoch));
	if (unlikely(from_loader))
		memo->pc = 0;
	return node;
}

/* The memo's entry for the stack if it has one, else the one to be replaced by it. */
static struct hwr_memo *memo_find(struct hwr_thread *t, const struct hwr_caller *caller,
				  bool *holds)
{
	struct hwr_memo_apart *apart = memo_apart(t, caller);
	struct hwr_memo *set = hwr_memo_set(t, caller);

	*holds = true;
	for (u32 way = 0; way < HWR_MEMO_WAYS; way++)
		if (hwr_memo_holds(t, &set[way], caller)) {
			apart->misses -= apart->misses > 0;
			return &set[way];
		}
	*holds = false;
	if (apart->count && ++apart->misses == UINT8_MAX)
		*apart = (struct hwr_memo_apart){.count = 0};
	return &set[t->memo_turn++ % HWR_MEMO_WAYS];
}

/* What tells which stack comes next: the last six, the last two, or these and the call that is
 * asked about. The first is best where programs repeat themselves (and is known early: the entry is
 * fetched by the event before), the others where data decide. */
static void set_trail(struct hwr_thread *t, u32 kind)
{
	t->trail_kind = kind;
	t->memo_push = kind == 0 ? HWR_TRAIL_LONG : HWR_TRAIL_SHORT;
	t->memo_by_caller = kind == 2 ? HWR_MEMO_TRAILS - 1 : 0;
}

/* Now and then, where many had to be searched, the other kinds are tried. The first window of a
 * trial fills the tables. */
static void choose_trail(struct hwr_thread *t)
{
	/* searches; records for one of them; windows */
	enum { KINDS = 3, WINDOW = 8192, MANY = 4, REST = 64 };
	u64 span = t->head - t->trail_head;

	if (likely(++t->trail_searches < WINDOW))
		return;
	t->trail_searches = 0;
	t->trail_head = t->head;
	if (t->trail_rest) {
		t->trail_rest--;
		return;
	}
	if (t->trail_trial && --t->trail_trial)
		return;
	if (!t->trail_tries && span >= (u64)WINDOW * MANY)
		return;
	if (!t->trail_tries || span > t->trail_span) {
		t->trail_best = t->trail_kind;
		t->trail_span = span;
	}
	if (++t->trail_tries < KINDS) {
		set_trail(t, (t->trail_kind + 1) % KINDS);
		t->trail_trial = 2;
	} else {
		set_trail(t, t->trail_best);
		t->trail_tries = 0;
		t->trail_rest = REST;
	}
}

u32 hwr_walk_search(struct hwr_thread *t, const struct hwr_caller *caller)
{
	u32 index = hwr_memo_index(t, caller);
	struct hwr_memo *m = &t->memo[t->memo_else[index]];
	bool holds = hwr_memo_holds(t, m, caller);
	u32 site;

	choose_trail(t);
	if (!holds)
		m = memo_find(t, caller, &holds);
	site = (u32)(m - t->memo);
	t->memo_else[index] = t->memo_next[index];
	t->memo_next[index] = (u16)site;
	t->memo_trail = hwr_memo_trail(t, site);
	t->memo_site = site;
	return holds ? m->node : hwr_walk_stack(t, caller, m);
}
