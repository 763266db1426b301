/* SPDX-License-Identifier: MIT
 * Which routines are recorded; see wanted.h. Runs in the target. A routine is judged when it is
 * first met, by the name of its module and by its own, which are matched with the filter's
 * patterns. Names are read once per module: all of its functions that match are then known. */
#include "format/patterns.h"
#include "target/recorder/pool/find.h"
#include "target/recorder/routine/wanted.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/modules.h"

enum {
	TABLE_BITS = 17,
	PROBES = 32,
	MODULES_MAX = 512,
	/* of known.state; the rest counts calls */
	WANTED = 1,
	UNWANTED = 2,
	CALLS_SHIFT = 2,
};

struct known {
	u64 routine; /* 0 = free; by cas */
	u64 state;
};

struct module { /* that was searched for names */
	u64 start;
	bool whole; /* all of it is wanted */
};

static struct known *table;
static struct module modules[MODULES_MAX];
static u32 modules_count;
static u32 searching;

bool hwr_wanted_attach(void)
{
	if (!table)
		table = hwr_map_private(sizeof *table << TABLE_BITS);
	return table != NULL;
}

/* NULL: no room. */
static struct known *find(u64 routine, bool add)
{
	u64 at = routine * 0x9e3779b97f4a7c15ull >> (64 - TABLE_BITS);

	for (u32 i = 0; i < PROBES; i++) {
		struct known *known = &table[(at + i) & ((1u << TABLE_BITS) - 1)];
		u64 found = load_relaxed(&known->routine);

		if (found == routine)
			return known;
		if (found == 0 &&
		    (!add || cas_acq_rel(&known->routine, &found, routine) || found == routine))
			return add ? known : NULL;
	}
	return NULL;
}

static void judge(u64 routine, u64 state)
{
	struct known *known = find(routine, true);
	u64 nothing = 0;

	if (known)
		cas_acq_rel(&known->state, &nothing, state);
}

/* ---- modules ---- */

static bool fits_any(const char *name)
{
	return hw_patterns_fit(hwr_control->routine_filter, name);
}

static void found(const char *name, u64 start)
{
	if (fits_any(name))
		judge(start, WANTED);
}

static bool path_fits(const char *path)
{
	char program[256];
	long bytes;

	if (*path)
		return fits_any(hw_file_name(path));
	bytes = hwr_readlink("/proc/self/exe", program, sizeof program - 1);
	program[bytes > 0 ? bytes : 0] = 0;
	return fits_any(hw_file_name(program));
}

/* Looks at the module's names, once. NULL: somebody else is at it. */
static const struct module *module_search(const struct hwr_module_at *at)
{
	struct module *module = &modules[modules_count];
	u32 nobody = 0;

	for (u32 i = 0; i < load_acquire(&modules_count); i++)
		if (modules[i].start == at->start)
			return &modules[i];
	if (modules_count == MODULES_MAX || !cas_acq_rel(&searching, &nobody, 1))
		return NULL;
	module->start = at->start;
	module->whole = path_fits(at->name);
	if (!module->whole)
		hwr_find_each(at->name, at->base, found);
	store_release(&modules_count, modules_count + 1);
	store_release(&searching, 0);
	return module;
}

/* Of a routine that is met for the first time. */
static u64 state_of(u64 routine)
{
	struct hwr_module_at at;
	const struct module *module;
	const struct known *known;

	if (!hwr_module_at(routine, &at))
		return hwr_control->routine_filter[0] ? UNWANTED : WANTED;
	if (!hwr_modules_saw(&at))
		return 0;
	if (!hwr_control->routine_filter[0])
		return WANTED;
	module = module_search(&at);
	if (!module)
		return 0;
	known = find(routine, false);
	return module->whole || (known && load_relaxed(&known->state) & WANTED) ? WANTED : UNWANTED;
}

bool hwr_wanted(u64 routine, u64 *calls)
{
	struct known *known = find(routine, false);
	u64 state = known ? load_relaxed(&known->state) : 0;

	if (calls)
		*calls = 0;
	if (unlikely(!state)) {
		state = state_of(routine);
		if (!state) /* somebody looks at the modules just now: judged next time */
			return !hwr_control->routine_filter[0];
		judge(routine, state);
		known = find(routine, false);
	}
	if (state & UNWANTED)
		return false;
	if (known && calls)
		*calls = add_relaxed(&known->state, 1 << CALLS_SHIFT) >> CALLS_SHIFT;
	return true;
}

bool hwr_wanted_between(u64 from, u64 to)
{
	for (u32 i = 0; i < 1u << TABLE_BITS; i++) {
		u64 routine = load_relaxed(&table[i].routine);

		if (routine > from && routine < to)
			return true;
	}
	return false;
}
