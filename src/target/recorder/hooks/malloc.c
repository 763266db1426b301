/* SPDX-License-Identifier: MIT
 * The malloc family. Runs in the target, in place of the functions of the same name, which are
 * called for every request: the program's own allocator keeps serving.
 * An allocation is stamped after the real call, a free before it.
 *
 * In a run that samples most calls are over before one that is recorded would have made its frame.
 * No hook leaves a frame of its own when it goes on to NAME_recorded, which sees our caller as its
 * own: the recorder is always compiled so. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "target/recorder/hooks/call.h"
#include "target/recorder/hooks/note.h"
#include "target/recorder/hooks/sample.h"
#include "target/recorder/state/real.h"

static __attribute__((noinline)) void *malloc_carefully(size_t size, struct hwr_caller caller)
{
	struct hwr_call call = {.caller = caller};
	void *p;

	if (hwr_sample_lets_pass(size) && (p = hwr_real.malloc(size)))
		return p;
	hwr_call_begin(&call);
	p = hwr_real.malloc(size);
	hwr_call_alloc(&call, HW_MALLOC, p, size);
	return p;
}

static __attribute__((noinline)) void *malloc_recorded(size_t size)
{
	struct hwr_caller caller = HWR_CALLER();
	struct hwr_thread *t = hwr_ready(&caller);
	void *p;

	if (unlikely(!t))
		return malloc_carefully(size, caller);
	if ((p = hwr_quick_malloc(t, HW_MALLOC, size, &caller)))
		return p;
	hwr_access_site(&caller);
	p = hwr_real.malloc(size);
	hwr_note_alloc(t, HW_MALLOC, p, size, &caller);
	return p;
}

static __attribute__((noinline)) void *malloc_passed(size_t size)
{
	void *p = hwr_real.malloc(size);

	return likely(p != NULL) ? p : malloc_recorded(size);
}

HWR_EXPORT void *malloc(size_t size)
{
	if (!hwr_samples() || !hwr_sample_passes(size))
		return malloc_recorded(size);
	return likely(size < HWR_SAMPLE_CERTAIN) ? hwr_real.malloc(size) : malloc_passed(size);
}

static __attribute__((noinline)) void free_carefully(void *p, struct hwr_caller caller)
{
	struct hwr_call call = {.caller = caller, .ending = (u64)p};

	if (hwr_sample_lets_end((u64)p)) {
		hwr_real.free(p);
		return;
	}
	hwr_call_begin(&call);
	hwr_call_free(&call, HW_FREE, p);
	hwr_real.free(p);
	hwr_call_end(&call, HW_FREE);
}

static __attribute__((noinline)) void free_recorded(void *p)
{
	struct hwr_caller caller = HWR_CALLER();
	struct hwr_thread *t = hwr_ready(&caller);

	if (unlikely(!t)) {
		free_carefully(p, caller);
		return;
	}
	if (hwr_quick_free(t, HW_FREE, (u64)p, &caller))
		return;
	if (!hwr_access_unborn(t, HW_FREE, (u64)p, &caller))
		hwr_note(t, HW_FREE, (u64)p, 0, &caller);
	hwr_real.free(p);
}

static inline void free_for(void *p)
{
	if (hwr_sample_ignores((u64)p))
		hwr_real.free(p);
	else if (p)
		free_recorded(p);
}

HWR_EXPORT void free(void *p) { free_for(p); }

/* The C library's own call its free, by a name that others may stand in front of or not. What the
 * sizes are is not checked there either. */
HWR_IN_FRONT(void, cfree, (void *p)) { free_for(p); }

HWR_IN_FRONT(void, free_sized, (void *p, size_t size))
{
	(void)size;
	free_for(p);
}

HWR_IN_FRONT(void, free_aligned_sized, (void *p, size_t alignment, size_t size))
{
	(void)alignment, (void)size;
	free_for(p);
}

/* What does not fit passes for no sample. */
static inline u64 product(size_t count, size_t size)
{
	u64 bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

static __attribute__((noinline)) void *calloc_carefully(size_t count, size_t size,
							struct hwr_caller caller)
{
	struct hwr_call call = {.caller = caller};
	void *p;

	if (hwr_sample_lets_pass(product(count, size)) && (p = hwr_real.calloc(count, size)))
		return p;
	hwr_call_begin(&call);
	p = hwr_real.calloc(count, size);
	hwr_call_alloc(&call, HW_CALLOC, p, count * size);
	return p;
}

static __attribute__((noinline)) void *calloc_recorded(size_t count, size_t size)
{
	struct hwr_caller caller = HWR_CALLER();
	struct hwr_thread *t = hwr_ready(&caller);
	void *p;

	if (likely(t) && (p = hwr_quick_calloc(t, count, size, &caller)))
		return p;
	hwr_access_site(&caller);
	if (unlikely(!t))
		return calloc_carefully(count, size, caller);
	p = hwr_real.calloc(count, size);
	hwr_note_alloc(t, HW_CALLOC, p, count * size, &caller);
	return p;
}

static __attribute__((noinline)) void *calloc_passed(size_t count, size_t size)
{
	void *p = hwr_real.calloc(count, size);

	return likely(p != NULL) ? p : calloc_recorded(count, size);
}

HWR_EXPORT void *calloc(size_t count, size_t size)
{
	u64 bytes;

	if (!hwr_samples() || !hwr_sample_passes(bytes = product(count, size)))
		return calloc_recorded(count, size);
	return likely(bytes < HWR_SAMPLE_CERTAIN) ? hwr_real.calloc(count, size)
						  : calloc_passed(count, size);
}

/* A realloc is recorded when it has succeeded. If the allocator ends the program instead, because
 * the block was freed before, the monitor finds here what it was given. */
static inline void *real_realloc(struct hwr_thread *t, void *old, size_t size, u64 pc)
{
	void *p;

	store_relaxed(&t->slot->realloc_pc, pc);
	store_relaxed(&t->slot->realloc_address, (u64)old);
	p = hwr_real.realloc(old, size);
	store_relaxed(&t->slot->realloc_address, 0);
	return p;
}

static __attribute__((noinline)) void *realloc_carefully(void *old, size_t size,
							 struct hwr_caller caller)
{
	struct hwr_call call = {.caller = caller, .ending = (u64)old};
	u64 ticks;
	void *p;

	if (size && hwr_sample_lets_end((u64)old) && hwr_sample_lets_pass(size) &&
	    (p = hwr_real.realloc(old, size)))
		return p;
	hwr_call_begin(&call);
	ticks = call.t ? hw_ticks() : 0;
	p = call.t ? real_realloc(call.t, old, size, caller.pc) : hwr_real.realloc(old, size);
	hwr_call_realloc(&call, ticks, old, p, size);
	return p;
}

/* A realloc is the end of one block and the birth of another; only when it has succeeded is either
 * true. realloc(p, 0) ends p, and realloc that gives nothing for a size has failed. */
static __attribute__((noinline)) void *realloc_recorded(void *old, size_t size)
{
	struct hwr_caller caller = HWR_CALLER();
	struct hwr_thread *t = hwr_ready(&caller);
	u64 ticks;
	void *p;

	if (likely(t) && (p = hwr_quick_realloc(t, old, size, &caller)))
		return p;
	hwr_access_site(&caller);
	if (unlikely(!t))
		return realloc_carefully(old, size, caller);
	ticks = hwr_stamp(t, hwr_stamp_site(&caller));
	p = real_realloc(t, old, size, caller.pc);
	if (unlikely(!p && (size || !old)))
		hwr_note_failed(t, HW_REALLOC, size, &caller);
	else
		hwr_note_realloc(t, ticks, old, p, size, &caller);
	return p;
}

static __attribute__((noinline)) void *realloc_passed(void *old, size_t size)
{
	void *p = hwr_real.realloc(old, size);

	return likely(p != NULL) ? p : realloc_recorded(old, size);
}

static inline void *realloc_for(void *old, size_t size)
{
	if (!hwr_samples() || !size || !hwr_sample_ignores((u64)old) || !hwr_sample_passes(size))
		return realloc_recorded(old, size);
	return likely(size < HWR_SAMPLE_CERTAIN) ? hwr_real.realloc(old, size)
						 : realloc_passed(old, size);
}

HWR_EXPORT void *realloc(void *old, size_t size) { return realloc_for(old, size); }

HWR_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc_for(old, bytes);
}

static __attribute__((noinline)) int posix_memalign_recorded(void **result, size_t alignment,
							     size_t size)
{
	struct hwr_call call = {.caller = HWR_CALLER()};
	int status;

	if (hwr_sample_lets_pass(size) && hwr_real.posix_memalign(result, alignment, size) == 0)
		return 0;
	hwr_call_begin(&call);
	status = hwr_real.posix_memalign(result, alignment, size);
	hwr_call_alloc(&call, HW_MEMALIGN, status ? NULL : *result, size);
	return status;
}

static __attribute__((noinline)) int posix_memalign_passed(void **result, size_t alignment,
							   size_t size)
{
	if (likely(hwr_real.posix_memalign(result, alignment, size) == 0))
		return 0;
	return posix_memalign_recorded(result, alignment, size);
}

HWR_EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	if (hwr_samples() && hwr_sample_passes(size))
		return posix_memalign_passed(result, alignment, size);
	return posix_memalign_recorded(result, alignment, size);
}

#define ALIGNED_HOOK(result, name, parameters, arguments, ...)                                     \
	static __attribute__((noinline)) void *name##_recorded parameters                          \
	{                                                                                          \
		struct hwr_call call = {.caller = HWR_CALLER()};                                   \
		void *p;                                                                           \
                                                                                                   \
		if (hwr_sample_lets_pass(size) && (p = hwr_real.name arguments))                   \
			return p;                                                                  \
		hwr_call_begin(&call);                                                             \
		p = hwr_real.name arguments;                                                       \
		hwr_call_alloc(&call, HW_MEMALIGN, p, size);                                       \
		return p;                                                                          \
	}                                                                                          \
                                                                                                   \
	static __attribute__((noinline)) void *name##_passed parameters                            \
	{                                                                                          \
		void *p = hwr_real.name arguments;                                                 \
                                                                                                   \
		return likely(p != NULL) ? p : name##_recorded arguments;                          \
	}                                                                                          \
                                                                                                   \
	HWR_EXPORT void *name parameters                                                           \
	{                                                                                          \
		if (hwr_samples() && hwr_sample_passes(size))                                      \
			return name##_passed arguments;                                            \
		return name##_recorded arguments;                                                  \
	}

HW_FAMILY(HW_NO_ROW, ALIGNED_HOOK, HW_NO_ROW)
