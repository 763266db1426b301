/* SPDX-License-Identifier: MIT
 * Requests to the monitor, and the table of names. Runs in the target, below the public API; never
 * in a hook. No memory but the berth's, no lock but the turn to make a request, which is waited for
 * with a limit. */
#include "target/recorder/session/control.h"

#include <errno.h>

#include "target/recorder/state/memory.h"
#include "target/recorder/state/sys.h"

enum { WAIT_NS = 50 * 1000 * 1000, TURN_NS = 1000 * 1000 };
static const u64 patience_ns = 10000000000ull;

static bool time_is_up(u64 since) { return hwr_monotonic_ns() - since > patience_ns; }

/* ---- requests ---- */

/* The turn to make a request; false if it is not to be had. A handler that interrupts its own
 * thread's request would wait for ever. */
static bool take_turn(u32 tid, u64 since)
{
	u32 holder = 0;

	while (!cas_acq_rel(&hwr_control->requester, &holder, tid)) {
		if (holder == tid || time_is_up(since) || !hwr_session_watched())
			return false;
		if (!hwr_thread_exists(hwr_pid, holder) &&
		    cas_acq_rel(&hwr_control->requester, &holder, tid))
			/* it ended, or jumped out of its request, and never came back */
			return true;
		hwr_futex_wait(&hwr_control->requester, holder, TURN_NS);
		holder = 0;
	}
	return true;
}

static void end_turn(void) { store_release(&hwr_control->requester, 0); }

/* False if the answer to request `number` does not come. */
static bool wait_for_answer(u32 number, u64 since)
{
	u32 answered;

	/* Acquire: pairs with the monitor's release, `answer` is there. */
	while ((answered = load_acquire(&hwr_control->answered)) != number) {
		if (time_is_up(since) || !hwr_session_watched())
			return false;
		hwr_futex_wait(&hwr_control->answered, answered, WAIT_NS);
	}
	return true;
}

/* The name as the monitor, which works in another folder, must have it; an errno if there is
 * none. */
static int copy_path(char to[HW_REQUEST_PATH], const char *path)
{
	size_t bytes = hwr_length(path) + 1, n = 0;

	if (bytes == 1)
		return ENOENT;
	if (path[0] != '/') {
		long length = hwr_getcwd(to, HW_REQUEST_PATH);

		if (length < 2)
			return length < 0 ? (int)-length : ENOENT;
		n = (size_t)length - 1;
		if (to[0] != '/')
			return ENOENT; /* "(unreachable)": the folder is outside of our root */
		if (n < HW_REQUEST_PATH - 1)
			to[n++] = '/';
	}
	if (n + bytes > HW_REQUEST_PATH)
		return ENAMETOOLONG;
	hwr_copy(to + n, path, bytes);
	return 0;
}

static int make_request(enum hw_request_verb verb, const char *path, u64 since)
{
	struct hw_request *request =
		(struct hw_request *)((u8 *)hwr_control + hwr_control->request_offset);
	u32 number = load_relaxed(&hwr_control->request);
	int failure = 0;

	if (!wait_for_answer(number, since))
		return EBUSY; /* the last one is still under way: its words must not change */
	request->path[0] = 0;
	if (path)
		failure = copy_path(request->path, path);
	if (failure)
		return failure;
	request->verb = verb;
	/* Only now does the program stop: a request that was never made must not stop it. */
	if (verb == HW_REQUEST_STOP) {
		store_relaxed(&hwr_control->stopped, HW_STOPPED);
		hwr_session_obey();
	}
	store_release(&hwr_control->request, number + 1); /* pairs with the monitor's acquire */
	add_acq_rel(&hwr_lobby->bell, 1);
	hwr_futex_wake(&hwr_lobby->bell);
	if (!wait_for_answer(number + 1, since))
		return hwr_session_watched() ? ETIMEDOUT : ENOTCONN;
	return (int)load_relaxed(&hwr_control->answer);
}

int hwr_request(enum hw_request_verb verb, const char *path)
{
	u64 since = hwr_monotonic_ns();
	int failure;

	if (!hwr_lobby || !hwr_control->request_offset || !hwr_session_watched())
		return ENOTCONN;
	/* A vfork child is somebody else in its parent's memory: the parent's recording is not its
	 * own. */
	if (hwr_getpid() != hwr_pid)
		return ENOTCONN;
	if (!take_turn(hwr_gettid(), since))
		return hwr_session_watched() ? EBUSY : ENOTCONN;
	failure = make_request(verb, path, since);
	end_turn();
	hwr_session_obey();
	return failure;
}

/* ---- names ---- */

static bool is_name(const struct hw_name *name, const char *text, size_t bytes)
{
	/* Acquire: pairs with the release below, the text is whole. */
	return load_acquire(&name->state) == 2 && hwr_same(name->text, text, bytes) &&
	       !name->text[bytes];
}

/* Where a cut does not split a UTF-8 sequence. */
static size_t cut(const char *text)
{
	size_t bytes = 0;

	while (text[bytes] && bytes < sizeof((struct hw_name *)0)->text - 1)
		bytes++;
	if (text[bytes])
		while (bytes > 0 && ((u8)text[bytes] & 0xc0) == 0x80)
			bytes--;
	return bytes;
}

/* Names are few: a program that makes up new ones all the time fills the table, and its later marks
 * have none. Two threads that bring the same new name may both get a place. */
u32 hwr_name(const char *text)
{
	struct hw_name *names = (struct hw_name *)((u8 *)hwr_control + hwr_control->names_offset);
	size_t bytes = cut(text);

	if (!bytes)
		return 0;
	for (u32 i = 1; i < hwr_control->names_max; i++) {
		u32 nothing = 0;

		if (is_name(&names[i], text, bytes))
			return i;
		if (load_relaxed(&names[i].state) || !cas_acq_rel(&names[i].state, &nothing, 1))
			continue;
		hwr_copy(names[i].text, text, bytes);
		names[i].text[bytes] = 0;
		store_release(&names[i].state, 2);
		return i;
	}
	hwr_fault(HW_FAULT_NAMES_FULL);
	return 0;
}
