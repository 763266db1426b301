/* SPDX-License-Identifier: MIT
 * The machine's frames as those of Lisp; see ecl_library.h. Runs in the target.
 *
 * The interpreter is a C function, whose frame holds a record of what it interprets (the history
 * stack, ihs): where such a record lies in a frame, the frame is the Lisp function's. A frame of
 * compiled code is a Lisp function's if its code begins where a function does that Lisp was told
 * of. Other frames of libecl and libgc are how Lisp works inside, and left out; those of other
 * modules stay as they are. */
#include "ecl_library.h"

#include <string.h>
#include <sys/mman.h>

/* The library is loaded into programs without Lisp, too. */
#pragma weak ecl_process_env_unsafe
#pragma weak ecl_apply_from_stack_frame

enum { ENTRIES = 1 << 15, PROBES = 64, VERDICTS = 1 << 14 };

/* A compiled function. */
struct entry {
	u64 start;       /* 0 = free; written last */
	u32 code, epoch; /* code is valid in this epoch */
	char name[HW_CODE_NAME];
};

static struct entry *entries;
static u32 version; /* raised whenever an entry changes */
static struct {
	u64 start, end;
} inner[3]; /* libecl, libgc, this library */

/* What becomes of frames with a pc: one word, so that threads may share it. */
enum { KEEP = 1, DROP = 2, NAMED = 3 };
static struct verdict {
	u64 pc;   /* xor word: a pair that does not fit together is no answer */
	u64 word; /* version << 32 | code << 2 | what */
} verdicts[VERDICTS];

void hwl_modules_find(u64 in_libecl, u64 in_libgc)
{
	u64 in[] = {in_libecl, in_libgc, (u64)&hwl_modules_find};
	struct hw_runtime_place place;

	for (u32 i = 0; i < 3; i++)
		if (in[i] && heapwise_runtime_place(in[i] + 1, &place)) {
			inner[i].start = place.start;
			inner[i].end = place.end;
		}
}

static bool is_inner(u64 pc)
{
	for (u32 i = 0; i < 3; i++)
		if (pc - inner[i].start < inner[i].end - inner[i].start)
			return true;
	return false;
}

/* ---- compiled functions ---- */

static u32 place_of(u64 start) { return (u32)((start * 0x9e3779b97f4a7c15ull) >> 49); }
_Static_assert(ENTRIES == 1 << 15, "15 bits of the hash");

static struct entry *entry_find(u64 start)
{
	for (u32 i = 0; entries && i < PROBES; i++) {
		struct entry *entry = &entries[(place_of(start) + i) % ENTRIES];
		u64 there = load_acquire(&entry->start);

		if (there == start)
			return entry;
		if (!there)
			return NULL;
	}
	return NULL;
}

static void entry_write(u64 start, cl_object name)
{
	struct entry *entry = entry_find(start);
	char text[HW_CODE_NAME];

	if (!entries) { /* while Lisp starts there is one thread */
		void *p = mmap(NULL, ENTRIES * sizeof *entries, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return;
		entries = p;
	}
	hwl_name_write(text, name);
	if (entry && strcmp(entry->name, text) == 0)
		return;
	for (u32 i = 0; !entry && i < PROBES; i++) {
		u64 nothing = 0;

		entry = &entries[(place_of(start) + i) % ENTRIES];
		if (load_relaxed(&entry->start) || !cas_acq_rel(&entry->start, &nothing, 1))
			entry = NULL;
	}
	if (!entry)
		return;
	memcpy(entry->name, text, sizeof text);
	store_relaxed(&entry->epoch, 0);
	store_release(&entry->start, start);
	add_acq_rel(&version, 1);
}

/* Of a function with a fixed number of arguments newer versions register NAME_va, which counts the
 * arguments and calls NAME; what was compiled with it calls NAME. */
enum { SYMBOL = 128 };
static __thread struct fixed {
	u64 door, start;
	char name[SYMBOL];
} fixed __attribute__((tls_model("initial-exec")));

static void door_found(const char *name, u64 start)
{
	size_t length = strlen(name);

	if (start != fixed.door || length <= 3 || length >= SYMBOL ||
	    strcmp(name + length - 3, "_va") != 0)
		return;
	memcpy(fixed.name, name, length - 3);
	fixed.name[length - 3] = 0;
}

static u64 distance(u64 a, u64 b) { return a > b ? a - b : b - a; }

/* Several files of a module may have a function of this name: that of the same file is nearest. */
static void fixed_found(const char *name, u64 start)
{
	if (strcmp(name, fixed.name) == 0 &&
	    distance(start, fixed.door) < distance(fixed.start, fixed.door))
		fixed.start = start;
}

void hwl_entry_add(u64 start, cl_object name)
{
	/* By this the interpreter calls all others; newer versions have it as a Lisp function. */
	if (name == ECL_NIL || !start || start == (u64)&ecl_apply_from_stack_frame)
		return;
	entry_write(start, name);
	if (is_inner(start))
		return; /* its file has no symbols of them */
	fixed = (struct fixed){.door = start};
	heapwise_runtime_functions(start, door_found);
	if (!*fixed.name)
		return;
	heapwise_runtime_functions(start, fixed_found);
	if (fixed.start)
		entry_write(fixed.start, name);
}

static u32 entry_code(struct entry *entry)
{
	u32 epoch = heapwise_runtime_epoch();

	if (load_acquire(&entry->epoch) != epoch) {
		u32 code = heapwise_runtime_code(entry->name);

		if (code == HW_NO_CODE)
			return code;
		store_relaxed(&entry->code, code);
		store_release(&entry->epoch, epoch);
	}
	return load_relaxed(&entry->code);
}

/* ---- frames ---- */

/* Libraries that Lisp calculates with, and calls foreign functions by. */
static bool is_helper(const char *module)
{
	const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;

	return strncmp(name, "libgmp", 6) == 0 || strncmp(name, "libffi", 6) == 0;
}

static u64 judge(u64 pc)
{
	struct hw_runtime_place place;
	struct entry *entry = NULL;
	u32 code;

	if (!heapwise_runtime_place(pc, &place))
		return KEEP;
	if (place.function)
		entry = entry_find(place.function);
	code = entry ? entry_code(entry) : HW_NO_CODE;
	if (code != HW_NO_CODE)
		return (u64)code << 2 | NAMED;
	return is_inner(pc - 1) || is_helper(place.module) ? DROP : KEEP;
}

/* Versions and epochs have few values: both in one word. */
static u64 verdict_of(u64 pc)
{
	u64 era = (u64)(load_relaxed(&version) + heapwise_runtime_epoch() * 0x10001u) << 32;
	struct verdict *slot = &verdicts[(pc * 0x9e3779b97f4a7c15ull) >> 50];
	u64 word = load_relaxed(&slot->word);

	if (word && (load_relaxed(&slot->pc) ^ word) == pc && word >> 32 == era >> 32)
		return word;
	word = era | judge(pc);
	store_relaxed(&slot->word, word);
	store_relaxed(&slot->pc, pc ^ word);
	return word;
}
_Static_assert(VERDICTS == 1 << 14, "14 bits of the hash");

/* The next record of the history stack that is on this stack, from `sp` up; NULL if there is
 * none. */
static const struct ecl_ihs_frame *on_stack(const struct ecl_ihs_frame *ihs, u64 sp)
{
	return ihs && ihs->index && (u64)ihs >= sp ? ihs : NULL;
}

u32 hwl_translate(struct hw_runtime_frame *frames, u32 count, u32 room)
{
	cl_env_ptr env = ecl_process_env_unsafe();
	const struct ecl_ihs_frame *ihs =
		env && count ? on_stack(env->HWL_IHS_TOP, frames[0].sp) : NULL;
	u32 kept = 0;

	(void)room;
	for (u32 i = 0; i < count; i++) {
		bool interpreted = false;
		u64 verdict;

		for (; ihs && frames[i].end != UINT64_MAX && (u64)ihs < frames[i].end;
		     ihs = on_stack(ihs->next, frames[i].sp)) {
			u32 code = hwl_code_of_function(ihs->function);

			interpreted = true;
			if (kept <= i && code != HW_NO_CODE)
				frames[kept++].pc = hw_code_pc(code);
		}
		if (interpreted)
			continue;
		verdict = verdict_of(frames[i].pc);
		if ((verdict & 3) == NAMED)
			frames[kept++].pc = hw_code_pc((u32)(verdict & UINT32_MAX) >> 2);
		else if ((verdict & 3) == KEEP)
			frames[kept++].pc = frames[i].pc;
	}
	return kept;
}
