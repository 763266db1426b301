/* SPDX-License-Identifier: MIT
 * A program's limit on its own address space (RLIMIT_AS). Runs in the target.
 *
 * A berth takes address space, though hardly any memory, for threads that may never come; the heap
 * for accesses takes terabytes. A program that limits itself to less than is mapped already knows
 * nothing of that: the limit becomes larger by what is ours, and it is told the one that it set.
 * What is exec'd afterwards inherits the larger one: its recorder finds in the lobby what was set,
 * and makes that larger by what is its own. */
#include <errno.h>
#include <sys/resource.h>

#include "target/recorder/session/session.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/sys.h"

static u64 added, added_hard; /* to the limits that hold */

static u64 own_bytes(void)
{
	return load_relaxed(&hwr_mapped_bytes) + load_relaxed(&hwr_reserved_bytes);
}

static rlim_t plus(rlim_t limit, u64 bytes)
{
	return limit < RLIM_INFINITY - bytes ? limit + bytes : limit;
}

static rlim_t minus(rlim_t limit, u64 bytes)
{
	return limit == RLIM_INFINITY || limit < bytes ? limit : limit - bytes;
}

/* What the program is told of the limits that hold. */
static void tell(struct rlimit *limits)
{
	limits->rlim_cur = minus(limits->rlim_cur, load_relaxed(&added));
	limits->rlim_max = minus(limits->rlim_max, load_relaxed(&added_hard));
}

static long ask(int pid, int what, const struct rlimit *new, struct rlimit *old)
{
	return hwr_syscall6(SYS_prlimit64, pid, what, (long)new, (long)old, 0, 0);
}

/* What the process has mapped, ours included: /proc/self/stat, field 23, in bytes. The name before
 * it may hold anything. */
static u64 mapped_now(void)
{
	enum { NAME = 2, MAPPED = 23 };
	char text[384];
	long n = hwr_read_file("/proc/self/stat", text, sizeof text), at = n;
	u64 bytes = 0;

	while (at > 0 && text[at - 1] != ')')
		at--;
	for (u32 field = NAME; at > 0 && at < n && field < MAPPED; at++)
		field += text[at] == ' ';
	for (; at > 0 && at < n && text[at] >= '0' && text[at] <= '9'; at++)
		bytes = bytes * 10 + (u64)(text[at] - '0');
	return bytes ? bytes : own_bytes();
}

static bool is_held(const struct hw_limit *limit, const struct rlimit *held)
{
	return load_acquire(&limit->soft) == held->rlim_cur &&
	       load_relaxed(&limit->hard) == held->rlim_max;
}

/* For images to come. Their limits are known by their numbers, which nobody else would set: a
 * process need not be known. */
static void note_larger(const struct rlimit *held, const struct rlimit *wanted)
{
	struct hw_limit *limit = NULL;

	/* One that was cut to the hard limit others have from the start. */
	if (!hwr_lobby || held->rlim_cur == wanted->rlim_cur ||
	    (held->rlim_cur == held->rlim_max && wanted->rlim_cur != wanted->rlim_max))
		return;
	for (u32 i = 0; i < HW_LIMITS && !limit; i++)
		if (is_held(&hwr_lobby->limits[i], held))
			limit = &hwr_lobby->limits[i];
	if (!limit)
		limit = &hwr_lobby->limits[add_acq_rel(&hwr_lobby->limits_made, 1) % HW_LIMITS];
	store_relaxed(&limit->soft, 0);
	fence_seq_cst(); /* pairs with that of who looks a second time */
	store_relaxed(&limit->hard, held->rlim_max);
	store_relaxed(&limit->soft_wanted, wanted->rlim_cur);
	store_relaxed(&limit->hard_wanted, wanted->rlim_max);
	store_release(&limit->soft, held->rlim_cur); /* pairs with the acquire of is_held */
}

static long set_address_space(const struct rlimit *wanted, struct rlimit *old)
{
	/* A program that looked at what it has mapped knows of ours already, and wants a limit
	 * above that. */
	u64 more = wanted->rlim_cur < mapped_now() ? own_bytes() : 0;
	struct rlimit larger = {plus(wanted->rlim_cur, more), plus(wanted->rlim_max, more)};
	long result = ask(0, RLIMIT_AS, &larger, old);

	if (result == -EPERM) { /* not above the hard limit: up to that, then */
		larger.rlim_max = wanted->rlim_max;
		if (larger.rlim_cur > larger.rlim_max)
			larger.rlim_cur = larger.rlim_max;
		result = ask(0, RLIMIT_AS, &larger, old);
	}
	if (result != 0)
		return ask(0, RLIMIT_AS, wanted, old);
	if (old)
		tell(old);
	note_larger(&larger, wanted);
	store_relaxed(&added, larger.rlim_cur - wanted->rlim_cur);
	store_relaxed(&added_hard, larger.rlim_max - wanted->rlim_max);
	return 0;
}

void hwr_limits_take_over(const struct hw_lobby *lobby)
{
	static bool done; /* later limits are those of this image */
	struct rlimit held = {RLIM_INFINITY, RLIM_INFINITY}, wanted;

	if (done)
		return;
	done = true;
	if (hwr_address_space() == ~0ull || ask(0, RLIMIT_AS, NULL, &held) != 0)
		return;
	for (u32 i = 0; i < HW_LIMITS; i++) {
		const struct hw_limit *limit = &lobby->limits[i];

		if (!is_held(limit, &held))
			continue;
		wanted.rlim_cur = load_relaxed(&limit->soft_wanted);
		wanted.rlim_max = load_relaxed(&limit->hard_wanted);
		fence_seq_cst();
		if (!is_held(limit, &held)) /* it was written over meanwhile */
			return;
		if (wanted.rlim_cur < held.rlim_cur && wanted.rlim_max <= held.rlim_max)
			set_address_space(&wanted, NULL);
		return;
	}
}

static inline long limit_held(int pid, int what, const struct rlimit *new, struct rlimit *old)
{
	long result;

	/* What is not memory of the program is for the kernel to refuse. */
	if (what != RLIMIT_AS || pid != 0 || !own_bytes() || (new && !hwr_readable((u64) new)))
		return ask(pid, what, new, old);
	if (new)
		return set_address_space(new, old);
	result = ask(0, RLIMIT_AS, NULL, old);
	if (result == 0 && old)
		tell(old);
	return result;
}

static inline long limit(int pid, int what, const struct rlimit *new, struct rlimit *old)
{
	long result;

	hwr_access_pin((u64) new);
	hwr_access_pin((u64)old);
	result = limit_held(pid, what, new, old);
	hwr_access_unpin((u64) new);
	hwr_access_unpin((u64)old);
	return result;
}

static inline int answer(long result)
{
	if (result >= 0)
		return (int)result;
	errno = (int)-result;
	return -1;
}

/* musl's headers make one of two of them: no other macro may have the name before HWR_IN_FRONT. */
HWR_IN_FRONT(int, setrlimit, (int what, const struct rlimit *new))
{
	return answer(limit(0, what, new, NULL));
}

HWR_IN_FRONT(int, setrlimit64, (int what, const struct rlimit *new))
{
	return answer(limit(0, what, new, NULL));
}

HWR_IN_FRONT(int, getrlimit, (int what, struct rlimit *old))
{
	return answer(limit(0, what, NULL, old));
}

HWR_IN_FRONT(int, getrlimit64, (int what, struct rlimit *old))
{
	return answer(limit(0, what, NULL, old));
}

HWR_IN_FRONT(int, prlimit, (int pid, int what, const struct rlimit *new, struct rlimit *old))
{
	return answer(limit(pid, what, new, old));
}

HWR_IN_FRONT(int, prlimit64, (int pid, int what, const struct rlimit *new, struct rlimit *old))
{
	return answer(limit(pid, what, new, old));
}
