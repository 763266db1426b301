/* SPDX-License-Identifier: MIT
 * From the caller of an allocator function to its calling context. Runs in the target. */
#ifndef TARGET_RECORDER_UNWIND_WALK_H
#define TARGET_RECORDER_UNWIND_WALK_H

#include "target/recorder/state/caller.h"
#include "target/recorder/state/thread.h"
#include "target/recorder/unwind/rules.h"

/* The context, walked as far as the kept stack does not help. */
u32 hwr_walk_stack(struct hwr_thread *t, const struct hwr_caller *caller, struct hwr_memo *memo)
	__attribute__((noinline));

/* The ways that the caller's stack may be kept in. */
struct hwr_memo *hwr_memo_set(struct hwr_thread *t, const struct hwr_caller *caller);

/* Whether the outer frames of a stack are those that are kept, and still there. The inner ones
 * are. */
bool hwr_memo_base_holds(const struct hwr_thread *t, const struct hwr_memo *m)
	__attribute__((noinline));

/* Slots are compared innermost first, in groups that lie on one page, and no group is read before
 * all inner ones matched: a match means that the frame is on the stack now, so that its caller's
 * slots, and the rest of the page of the first of them, can be read. */
static inline __attribute__((always_inline)) bool hwr_memo_holds(const struct hwr_thread *t,
								 const struct hwr_memo *m,
								 const struct hwr_caller *caller)
{
	const u64 *sp = (const u64 *)caller->sp;
	const struct hwr_memo_group *group = t->memo_groups + (m->position & t->memo_mask);
	const struct hwr_memo_group *end = group + m->groups;

	if (m->pc != caller->pc || m->sp != caller->sp || (m->fp_live && m->fp != caller->fp) ||
	    m->epoch != load_relaxed(&hwr_epoch) || t->memo_head - m->position > t->memo_mask + 1)
		return false;
	for (; likely(group < end); group++)
		if (unlikely((sp[group->at[0]] ^ group->value[0]) |
			     (sp[group->at[1]] ^ group->value[1]) |
			     (sp[group->at[2]] ^ group->value[2]) |
			     (sp[group->at[3]] ^ group->value[3])))
			return false;
	return !m->base || hwr_memo_base_holds(t, m);
}

/* The trail that goes on with this entry. Each pushes a part of what was before out. */
static inline u32 hwr_memo_trail(const struct hwr_thread *t, u32 last)
{
	return ((t->memo_trail << t->memo_push) ^ (last + 1) * 0x9e3779b1u >> 20) &
	       (HWR_MEMO_TRAILS - 1);
}
_Static_assert(HWR_MEMO_TRAILS == 1 << 12, "hwr_memo_trail takes 12 bits");

/* Where it is kept what came next. */
static inline u32 hwr_memo_index(const struct hwr_thread *t, const struct hwr_caller *caller)
{
	return t->memo_trail ^ ((u32)caller->pc & t->memo_by_caller);
}

/* hwr_walk for a stack that did not come next before. */
u32 hwr_walk_search(struct hwr_thread *t, const struct hwr_caller *caller)
	__attribute__((noinline));

/* The calling context of an event. Unwinding is a function of PC, SP, FP and the contents of the
 * stack slots it reads: where all of these are as before, so is the result. Programs repeat
 * themselves: what came after the last few stacks before is tried first, which spares the search;
 * and is fetched by the event before it, since a program that uses much memory leaves little of
 * ours in the cache. */
static inline __attribute__((always_inline)) u32 hwr_walk(struct hwr_thread *t,
							  const struct hwr_caller *caller)
{
	u32 site = t->memo_next[hwr_memo_index(t, caller)];
	const struct hwr_memo *m = &t->memo[site];

	if (unlikely(!hwr_memo_holds(t, m, caller)))
		return hwr_walk_search(t, caller);
	t->memo_trail = hwr_memo_trail(t, site);
	t->memo_site = site;
	__builtin_prefetch(&t->memo[t->memo_next[t->memo_trail]]);
	return m->node;
}

#endif
