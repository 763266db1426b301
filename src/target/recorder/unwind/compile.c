/* SPDX-License-Identifier: MIT
 * Compiles unwind rules and fills their cache. Runs in the target; takes no lock. */
#include "target/recorder/unwind/cfi.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/unwind/rules.h"

static void cache_put(u64 pc, u32 rule, u32 epoch)
{
	u64 mixed = hwr_rule_mix(pc);
	u64 tag = mixed & ((1ull << (HWR_PC_BITS - HWR_RULE_SET_BITS)) - 1);
	u64 *set = &hwr_rule_cache[(mixed >> (HWR_PC_BITS - HWR_RULE_SET_BITS)) * 2];

	store_relaxed(&set[1], load_relaxed(&set[0]));
	store_relaxed(&set[0], tag << HWR_RULE_BITS | rule);
	/* Pairs with the fence in hwr_rules_forget: either its sweep sees this entry, or this
	 * thread sees the new epoch and takes the entry back. */
	fence_seq_cst();
	if (unlikely(load_relaxed(&hwr_epoch) != epoch)) {
		store_relaxed(&set[0], 0);
		store_relaxed(&set[1], 0);
	}
}

/* The loader starts an image from code without CFI: constructors that run before main end there. */
static bool is_loader(u64 pc) { return pc - hwr_loader_start < hwr_loader_bytes; }

static u32 compile(u64 pc, const struct hwr_module_at *module, struct hwr_cfi_scratch *scratch)
{
	enum hwr_cfi_result found = hwr_cfi_find(pc - 1, module, scratch);
	u32 packed;

	/* makecontext returns to the first byte of __start_context, which has no caller. */
	if (found == HWR_CFI_NONE && hwr_cfi_find(pc, module, scratch) == HWR_CFI_FOUND)
		return HWR_RULE_VALID | HWR_RULE_SPECIAL | HWR_RULE_END;
	if (found == HWR_CFI_NONE && (is_loader(pc) || hwr_is_program_start(pc)))
		return HWR_RULE_VALID | HWR_RULE_SPECIAL | HWR_RULE_END;
	if (found == HWR_CFI_NONE)
		return HWR_RULE_NO_CFI;
	if (found != HWR_CFI_FOUND)
		return HWR_RULE_VALID | HWR_RULE_SPECIAL;
	if (scratch->row.registers[HWR_REG_RA].where == HWR_UNDEFINED)
		return HWR_RULE_VALID | HWR_RULE_SPECIAL | HWR_RULE_END;
	packed = hwr_rule_pack(&scratch->row);
	return packed ? packed : HWR_RULE_VALID | HWR_RULE_SPECIAL;
}

u32 hwr_rule_compile(u64 pc, struct hwr_cfi_scratch *scratch)
{
	u32 epoch = load_relaxed(&hwr_epoch);
	struct hwr_module_at module;
	bool settled;
	u32 rule;

	if (!hwr_module_at(pc - 1, &module)) /* not cached: such code may change */
		return HWR_RULE_VALID | HWR_RULE_SPECIAL;
	settled = hwr_modules_saw(&module);
	rule = compile(pc, &module, scratch);
	if (settled && hwr_pc_cacheable(pc))
		cache_put(pc, rule, epoch);
	return rule;
}
