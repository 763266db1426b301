/* SPDX-License-Identifier: MIT
 * The cache of compiled unwind rules. Runs in the target; takes no lock. */
#include "target/recorder/unwind/rules.h"

#include "target/recorder/state/desk.h"

u64 *hwr_rule_cache;
u32 hwr_epoch = 1;

bool hwr_rules_init(void)
{
	hwr_rule_cache = hwr_desk_take(sizeof *hwr_rule_cache << (HWR_RULE_SET_BITS + 1));
	return hwr_rule_cache != NULL;
}

void hwr_rules_forget(void)
{
	fence_seq_cst(); /* pairs with the one in cache_put of compile.c */
	for (u32 i = 0; i < 2u << HWR_RULE_SET_BITS; i++)
		store_relaxed(&hwr_rule_cache[i], 0);
}
