/* SPDX-License-Identifier: MIT
 * Every replaceable form of operator new and delete, so that the kind of an allocation is known.
 * Runs in the target, in front of the C++ library's (or another allocator's) operators, which are
 * looked up at the first call: a C program may load its first C++ library late.
 * The list of forms is in format/family.h. */
#include "target/recorder/hooks/call.h"
#include "target/recorder/hooks/note.h"
#include "target/recorder/hooks/pools.h"
#include "target/recorder/hooks/sample.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"

enum { FORMS = 20 };

static const char *const names[FORMS] = {
#define FORM_NAME(number, name, ...) [number] = #name,
	HW_NEW_FORMS(FORM_NAME, FORM_NAME) HW_DELETE_FORMS(FORM_NAME)};

static void *real[FORMS];

/* ---- operators of our own ---- */

/* A program that has its C++ library linked in has our operators instead of that library's. */
#ifdef HWR_LINKED

/* operator new as the C++ standard has it, linked/new.cpp; and what it takes memory from. */
void *hwr_own_new(size_t size, size_t alignment, bool throws);
void *hwr_own_memory(size_t size, size_t alignment);

void *hwr_own_memory(size_t size, size_t alignment)
{
	return alignment ? hwr_real.memalign(alignment, size + !size)
			 : hwr_real.malloc(size + !size);
}

static void *own_new(size_t size) { return hwr_own_new(size, 0, true); }
static void *own_new_quiet(size_t size, const void *n)
{
	(void)n;
	return hwr_own_new(size, 0, false);
}
static void *own_new_aligned(size_t size, size_t a) { return hwr_own_new(size, a, true); }
static void *own_new_aligned_quiet(size_t size, size_t a, const void *n)
{
	(void)n;
	return hwr_own_new(size, a, false);
}
static void own_delete(void *p) { hwr_real.free(p); }

static void *own_form(u32 form)
{
	static void *const news[] = {(void *)own_new, (void *)own_new_quiet,
				     (void *)own_new_aligned, (void *)own_new_aligned_quiet};

	/* which looks at its first argument alone */
	return form < 8 ? news[form / 2] : (void *)own_delete;
}

#else

static void *own_form(u32 form)
{
	(void)form;
	return NULL;
}

#endif

/* ---- those behind ours ---- */

static __attribute__((noinline)) void *find_real(u32 form)
{
	u64 start = 0, end = 0;
	void *found = hwr_real_symbol(names[form], &start, &end);

	if (!hwr_operators_end && found) {
		hwr_operators_start = start;
		store_release(&hwr_operators_end, end);
	}
	found = found ? (void *)hwr_pool_past((u64)found) : own_form(form);
	store_relaxed(&real[form], found); /* every thread finds the same */
	return found;
}

/* ---- the C++ library's own operators ---- */

/* Whether the operators do nothing but call malloc and free, as long as malloc gives something; and
 * those with an alignment, which call one of several functions, also nothing more. */
enum { PLAIN_UNKNOWN, PLAIN_NO, PLAIN_SIMPLE, PLAIN_ALL };
static u32 plain;

#define IS_SIMPLE_NEW(number) ((number) <= 3)
#define IS_SIMPLE_DELETE(number) ((number) >= 8 && (number) <= 13)
#define IS_SIMPLE(number) (IS_SIMPLE_NEW(number) || IS_SIMPLE_DELETE(number))

/* Each form for itself: a library may replace operator new[] alone. */
static bool all_come_from(const char *library, bool simple)
{
	for (u32 i = 0; i < FORMS; i++)
		if (IS_SIMPLE(i) == simple && !hwr_real_comes_from(names[i], library))
			return false;
	return true;
}

/* What memory_at gives is ended by free: both must be one allocator's. */
static bool memalign_is_of_free(void)
{
	struct hwr_module_at one, other;

	return hwr_is_static() ||
	       (hwr_module_at((u64)hwr_real.memalign, &one) &&
		hwr_module_at((u64)hwr_real.free, &other) && one.start == other.start);
}

/* Not if anybody has replaced one of them, or malloc: the library's other forms then call that. */
static __attribute__((noinline)) u32 find_plain(void)
{
	static const char *const libraries[] = {"libstdc++.so", "libc++abi.so", "libc++.so"};
	u32 found = PLAIN_NO;

	for (u32 i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (all_come_from(libraries[i], true))
			found = all_come_from(libraries[i], false) ? PLAIN_ALL : PLAIN_SIMPLE;
	if (own_form(0) && !hwr_real_symbol(names[0], NULL, NULL))
		found = PLAIN_ALL;
	if (found == PLAIN_ALL && !memalign_is_of_free())
		found = PLAIN_SIMPLE;
	if (!hwr_is_static() &&
	    (!hwr_real_comes_from("malloc", "") || !hwr_real_comes_from("free", "")))
		found = PLAIN_NO;
	store_relaxed(&plain, found); /* every thread finds the same */
	return found;
}

static inline bool is_plain(void)
{
	u32 known = load_relaxed(&plain);

	return likely(known >= PLAIN_SIMPLE) ||
	       (known == PLAIN_UNKNOWN && find_plain() >= PLAIN_SIMPLE);
}

/* Whether the run samples, and what this form does is known, so that we can do it when the call is
 * not recorded. */
static inline bool samples_plain(u32 form)
{
	return hwr_samples() &&
	       load_relaxed(&plain) >= (IS_SIMPLE(form) ? PLAIN_SIMPLE : PLAIN_ALL);
}

static inline void *memory(size_t size) { return hwr_real.malloc(size + !size); }

/* NULL for what is no alignment: the operator decides. */
static inline void *memory_at(size_t size, size_t a)
{
	return a && !(a & (a - 1)) ? hwr_real.memalign(a, size + !size) : NULL;
}

void hwr_operators_forget(void)
{
	store_relaxed(&plain, PLAIN_UNKNOWN);
	for (u32 i = 0; i < FORMS; i++)
		store_relaxed(&real[i], NULL);
	hwr_operators_end = 0;
}

static inline void *real_of(u32 form)
{
	void *found = load_relaxed(&real[form]);

	return likely(found != NULL) ? found : find_real(form);
}

/* If the operator throws, the suppression dies with the stack that it was for. */
#define DEFINE_NEW(number, name, kind, parameters, arguments, memory)                              \
	void *name parameters;                                                                     \
	static __attribute__((noinline)) void *name##_recorded parameters                          \
	{                                                                                          \
		struct hwr_caller caller = HWR_CALLER();                                           \
		struct hwr_thread *t = IS_SIMPLE_NEW(number) ? hwr_ready(&caller) : NULL;          \
		void *(*operator_new)parameters;                                                   \
		struct hwr_call call;                                                              \
		void *p;                                                                           \
                                                                                                   \
		if (likely(t && size && is_plain()) &&                                             \
		    (p = hwr_quick_malloc(t, HW_##kind, size, &caller)))                           \
			return p;                                                                  \
		hwr_access_site(&caller);                                                          \
		if (likely(t && is_plain()) && likely((p = memory))) {                             \
			hwr_note(t, HW_##kind, (u64)p, size, &caller);                             \
			return p;                                                                  \
		}                                                                                  \
		if (hwr_samples() && is_plain() && samples_plain(number) &&                        \
		    hwr_sample_passes_closely(size) && (p = memory))                               \
			return p;                                                                  \
		call = (struct hwr_call){.caller = caller};                                        \
		hwr_call_begin(&call);                                                             \
		if (IS_SIMPLE_NEW(number) && is_plain() && (p = memory)) {                         \
			hwr_call_alloc(&call, HW_##kind, p, size);                                 \
			return p;                                                                  \
		}                                                                                  \
		operator_new = real_of(number);                                                    \
		hwr_suppress_begin(&call, 0);                                                      \
		p = operator_new arguments;                                                        \
		if (hwr_suppress_end(&call, p))                                                    \
			hwr_call_alloc(&call, HW_##kind, p, size);                                 \
		return p;                                                                          \
	}                                                                                          \
                                                                                                   \
	static __attribute__((noinline)) void *name##_passed parameters                            \
	{                                                                                          \
		void *p = memory;                                                                  \
                                                                                                   \
		return likely(p != NULL) ? p : name##_recorded arguments;                          \
	}                                                                                          \
                                                                                                   \
	HWR_EXPORT void *name parameters                                                           \
	{                                                                                          \
		if (samples_plain(number) && hwr_sample_passes(size))                              \
			return name##_passed arguments;                                            \
		return name##_recorded arguments;                                                  \
	}

#define DEFINE_DELETE(number, name, kind, parameters, arguments)                                   \
	void name parameters;                                                                      \
	static __attribute__((noinline)) void name##_recorded parameters                           \
	{                                                                                          \
		struct hwr_caller caller = HWR_CALLER();                                           \
		struct hwr_thread *t = IS_SIMPLE_DELETE(number) ? hwr_ready(&caller) : NULL;       \
		void(*operator_delete) parameters;                                                 \
		struct hwr_call call;                                                              \
                                                                                                   \
		if (!p)                                                                            \
			return;                                                                    \
		if (likely(t && is_plain())) {                                                     \
			if (hwr_quick_free(t, HW_##kind, (u64)p, &caller))                         \
				return;                                                            \
			if (!hwr_access_unborn(t, HW_##kind, (u64)p, &caller))                     \
				hwr_note(t, HW_##kind, (u64)p, 0, &caller);                        \
			hwr_real.free(p);                                                          \
			return;                                                                    \
		}                                                                                  \
		if (hwr_samples() && is_plain() && samples_plain(number) &&                        \
		    hwr_sample_ignores_closely((u64)p)) {                                          \
			hwr_real.free(p);                                                          \
			return;                                                                    \
		}                                                                                  \
		call = (struct hwr_call){.caller = caller, .ending = (u64)p};                      \
		hwr_call_begin(&call);                                                             \
		hwr_call_free(&call, HW_##kind, p);                                                \
		if (IS_SIMPLE_DELETE(number) && is_plain()) {                                      \
			hwr_real.free(p);                                                          \
			hwr_call_end(&call, HW_##kind);                                            \
			return;                                                                    \
		}                                                                                  \
		operator_delete = real_of(number);                                                 \
		hwr_suppress_begin(&call, (u64)p);                                                 \
		operator_delete arguments;                                                         \
		hwr_suppress_end(&call, NULL);                                                     \
		hwr_call_end(&call, HW_##kind);                                                    \
	}                                                                                          \
                                                                                                   \
	HWR_EXPORT void name parameters                                                            \
	{                                                                                          \
		if (samples_plain(number) && hwr_sample_ignores((u64)p))                           \
			hwr_real.free(p);                                                          \
		else                                                                               \
			name##_recorded arguments;                                                 \
	}

/* What each does where it is the C++ library's own. */
#define DEFINE_SIZED(number, name, kind, parameters, arguments)                                    \
	DEFINE_NEW(number, name, kind, parameters, arguments, memory(size))
#define DEFINE_ALIGNED(number, name, kind, parameters, arguments)                                  \
	DEFINE_NEW(number, name, kind, parameters, arguments, memory_at(size, a))

HW_NEW_FORMS(DEFINE_SIZED, DEFINE_ALIGNED)
HW_DELETE_FORMS(DEFINE_DELETE)
