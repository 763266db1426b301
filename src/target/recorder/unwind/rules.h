/* SPDX-License-Identifier: MIT
 * Compiled unwind rules: one word per return address, in a lock-free cache that every thread
 * shares.
 * Runs in the target. */
#ifndef TARGET_RECORDER_UNWIND_RULES_H
#define TARGET_RECORDER_UNWIND_RULES_H

#include "format/atomics.h"
#include "target/recorder/state/frames.h"
#include "target/recorder/state/own.h"

enum { HWR_RULE_SET_BITS = 14 }; /* sets of two ways; direct-mapped thrashed under ASLR */

/* An entry is tag << HWR_RULE_BITS | rule. Set and tag together are a bijection of the PC, so a hit
 * is exact; and since an entry is one word, readers and writers need no lock. */
#define HWR_RULE_MASK ((1ull << HWR_RULE_BITS) - 1)
extern u64 *hwr_rule_cache HWR_OWN;

static inline u64 hwr_rule_mix(u64 pc)
{
	return (hwr_pc_key(pc) * 0x1e3779b97f4a7c15ull) & ((1ull << HWR_PC_BITS) - 1);
}

/* Finds and caches the rule of a return address, compile.c; the slow half of hwr_rule_of. */
u32 hwr_rule_compile(u64 pc, struct hwr_cfi_scratch *scratch);

/* The rule of return address pc. Always HWR_RULE_VALID. */
static inline u32 hwr_rule_of(u64 pc, struct hwr_cfi_scratch *scratch)
{
	u64 mixed = hwr_rule_mix(pc);
	u64 tag = mixed & ((1ull << (HWR_PC_BITS - HWR_RULE_SET_BITS)) - 1);
	const u64 *set = &hwr_rule_cache[(mixed >> (HWR_PC_BITS - HWR_RULE_SET_BITS)) * 2];
	u64 entry = load_relaxed(&set[0]);

	if (likely(entry >> HWR_RULE_BITS == tag && (entry & HWR_RULE_VALID) &&
		   hwr_pc_cacheable(pc)))
		return (u32)(entry & HWR_RULE_MASK);
	entry = load_relaxed(&set[1]);
	if (likely(entry >> HWR_RULE_BITS == tag && (entry & HWR_RULE_VALID) &&
		   hwr_pc_cacheable(pc)))
		return (u32)(entry & HWR_RULE_MASK);
	return hwr_rule_compile(pc, scratch);
}

/* Makes an empty cache for a new image; false if there is no memory. */
bool hwr_rules_init(void);

/* Empties the cache. The caller has raised hwr_epoch before. */
void hwr_rules_forget(void);

/* Raised whenever a module went away: nothing cached under an older value may be trusted. */
extern u32 hwr_epoch HWR_OWN;

/* Of the CPU: the row as a packed rule, 0 if the general evaluator is needed. */
u32 hwr_rule_pack(const struct hwr_row *row);

#endif
