/* SPDX-License-Identifier: MIT
 * Which functions --alloc-fn, --free-fn and --allocator name, and what became of them; see
 * run_plan.h. Host. */
#include "show/cli/run_plan.h"

#include <stdio.h>
#include <string.h>

#include "host/base/strbuf.h"
#include "host/base/units.h"
#include "format/allocators.h"

static const u64 SIZE_MOST = 1ull << 47; /* no block is larger than the address space */

/* What follows the colon: the number of an argument, or =BYTES, which all blocks of the function
 * have. */
static bool read_where(struct hw_pool *pool, const char *text)
{
	u64 argument;

	if (*text == '=' && !pool->frees)
		return parse_bytes(text + 1, &pool->size) && pool->size && pool->size <= SIZE_MOST;
	if (!parse_number(text, &argument) || argument < 1 || argument > HW_POOL_ARGUMENTS)
		return false;
	pool->argument = (u8)(argument - 1);
	return true;
}

static int read_one(struct run_pools *self, const char *text, bool frees, struct err *err)
{
	const char *option = frees ? "free-fn" : "alloc-fn";
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	struct hw_pool pool = {.frees = frees};

	if (colon && !read_where(&pool, colon + 1))
		return err_set(err, ERR_USAGE,
			       "--%s %s: after the colon, expected the number of "
			       "the argument that holds the %s, 1 to %d%s",
			       option, text, frees ? "block" : "size", (int)HW_POOL_ARGUMENTS,
			       frees ? "" : ", or a fixed size such as :=64");
	if (length < 1 || length >= sizeof(pool.name))
		return err_set(err, ERR_USAGE,
			       "--%s: expected a function name of at most %zu characters", option,
			       sizeof(pool.name) - 1);
	if (self->count == HW_POOLS)
		return err_set(err, ERR_USAGE,
			       "at most %d functions can be given with --alloc-fn and --free-fn",
			       (int)HW_POOLS);
	memcpy(pool.name, text, length);
	self->items[self->count++] = pool;
	return 0;
}

int run_pools_read(struct run_pools *self, const struct option_strings *allocs,
		   const struct option_strings *frees, struct err *err)
{
	int status = 0;

	for (u32 i = 0; i < allocs->count && status == 0; i++)
		status = read_one(self, allocs->items[i], false, err);
	for (u32 i = 0; i < frees->count && status == 0; i++)
		status = read_one(self, frees->items[i], true, err);
	if (status == 0 && frees->count && !allocs->count)
		return err_set(err, ERR_USAGE, "--free-fn requires --alloc-fn");
	return status;
}

/* ---- known allocators ---- */

static const char *const allocator_words[HW_ALLOCATOR_COUNT] = {
#define WORD(name, word, by_default, probe) word,
	HW_ALLOCATORS(WORD)};

int run_allocators_read(struct run_pools *self, const struct option_strings *words, struct err *err)
{
	struct strbuf known = {0};
	bool none = false;
	int status;

	self->allocators = words->count ? 0 : hw_allocators_default();
	for (u32 i = 0; i < words->count; i++) {
		const char *word = words->items[i];
		u32 which = 0;

		while (which < HW_ALLOCATOR_COUNT && strcmp(word, allocator_words[which]) != 0)
			which++;
		if (which < HW_ALLOCATOR_COUNT)
			self->allocators |= 1u << which | hw_allocators_default();
		else if (strcmp(word, "auto") == 0)
			self->allocators |= hw_allocators_default();
		else if (strcmp(word, "none") == 0)
			none = true;
		else
			goto unknown;
	}
	if (none && self->allocators)
		return err_set(err, ERR_USAGE,
			       "--allocator none cannot be combined with other allocators");
	return 0;
unknown:
	for (u32 i = 0; i < HW_ALLOCATOR_COUNT; i++)
		strbuf_addf(&known, "%s%s", i ? ", " : "", allocator_words[i]);
	status = err_set(err, ERR_USAGE,
			 "--allocator: expected auto, none or one of %s; for other "
			 "allocators use --alloc-fn and --free-fn",
			 strbuf_text(&known));
	strbuf_release(&known);
	return status;
}

bool run_allocators_say(const struct run_result *result)
{
	u32 found[HW_ALLOCATOR_COUNT] = {0}, all = 0;

	for (u32 i = 0; i < HW_ENTRIES; i++) {
		found[hw_entries[i].allocator] += result->entry_states[i] == HW_ENTRY_RECORDED;
		all += result->entry_states[i] == HW_ENTRY_RECORDED;
	}
	if (found[HW_ALLOCATOR_PROGRAM])
		fprintf(stderr,
			"heapwise: note: the program contains its own allocator; %u of its "
			"functions were patched and recorded\n",
			all);
	return all != 0;
}

static void say_entries(const struct run_result *result)
{
	static const char *const reasons[] = {
		[HW_ENTRY_NO_ROOM] = "its code could not be changed, or no memory near it was free",
		[HW_ENTRY_UNFIT] = "its first instructions cannot be moved",
		[HW_ENTRY_SHADOWED] = "its first instructions cannot be moved while the program "
				      "has a shadow stack (CET or GCS)",
	};

	for (u32 i = 0; i < HW_ENTRIES; i++)
		if (result->entry_states[i] >= HW_ENTRY_NO_ROOM)
			fprintf(stderr,
				"heapwise: WARNING: %s of the allocator linked into the "
				"program was NOT recorded: %s; use --access valgrind, or "
				"link the program with the allocator's shared library\n",
				hw_entries[i].name, reasons[result->entry_states[i]]);
}

/* A function without a size among its arguments leaves anything where one would be. */
static void say_refused(const struct hw_pool *pool, u64 blocks)
{
	fprintf(stderr,
		"heapwise: WARNING: --alloc-fn %s: argument %u of %s %s cannot be a size; "
		"their blocks are recorded with 0 bytes; name another argument (%s:2), or "
		"a fixed size (%s:=64)\n",
		pool->name, pool->argument + 1u, units_count(blocks).text,
		blocks == 1 ? "call" : "calls", pool->name, pool->name);
}

void run_pools_say(const struct run_pools *self, const struct run_result *result)
{
	static const char *const reasons[] = {
		[HW_POOL_UNSEEN] = "no loaded module has this function (it may be inlined, removed "
				   "or stripped; for C++ give the mangled name shown by 'nm')",
		[HW_POOL_NO_ROOM] = "its code could not be changed, or no memory near it was free",
		[HW_POOL_UNFIT] = "its first instructions cannot be moved; --access valgrind "
				  "records it",
		[HW_POOL_SHADOWED] = "its first instructions cannot be moved while the program "
				     "has a shadow stack (CET or GCS); --access valgrind records "
				     "it",
	};

	if (result->recorded)
		say_entries(result);
	for (u32 i = 0; i < self->count && result->recorded; i++) {
		u32 state = result->pool_states[i];

		if (result->pool_refused[i])
			say_refused(&self->items[i], result->pool_refused[i]);
		if (state == HW_POOL_UNSEEN && self->below_valgrind)
			fprintf(stderr, "heapwise: note: --%s %s: the function was never called\n",
				self->items[i].frees ? "free-fn" : "alloc-fn", self->items[i].name);
		else if (state < sizeof(reasons) / sizeof(*reasons))
			fprintf(stderr, "heapwise: WARNING: --%s %s was NOT recorded: %s\n",
				self->items[i].frees ? "free-fn" : "alloc-fn", self->items[i].name,
				reasons[state]);
	}
}
