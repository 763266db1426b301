/* SPDX-License-Identifier: MIT
 * Landing points of include/heapwise/heapwise.h. Runs in the target, called by the program, never
 * by a hook: so the program's callback runs as its own code, and what waits makes no allocation
 * wait. */
#include <errno.h>

#include "heapwise/heapwise.h"
#include "target/recorder/hooks/call.h"
#include "target/recorder/hooks/sample.h"
#include "target/recorder/session/control.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/caller.h"

/* A program may speak before it has allocated anything. */
static bool attached(void) { return load_relaxed(&hwr_token.on) || hwr_session_join(); }

static void put_mark(const struct hwr_caller *caller, u32 mark, u64 address, u64 number)
{
	struct hwr_call call = {.caller = *caller};

	hwr_call_begin(&call);
	hwr_call_mark(&call, mark, address, number);
}

/* A moment that the program names: it is scanned before anything else happens. */
static void put_moment(const struct hwr_caller *caller, u32 mark, u64 address, u64 number)
{
	put_mark(caller, mark, address, number);
	if (load_relaxed(&hwr_control->leaving) != HW_LEAVING_NOT)
		return; /* the monitor waits for the end */
	switch (load_relaxed(&hwr_control->mark_scan)) {
	case HW_MARK_SCAN_ASK: hwr_request(HW_REQUEST_SCAN, NULL); break;
	case HW_MARK_SCAN_PASS: add_relaxed(&hwr_control->marks_passed, 1); break;
	default: break;
	}
}

/* ---- snapshots ---- */

static void (*callback)(void *);
static void *callback_argument;
static __thread bool in_callback __attribute__((tls_model("initial-exec")));

static void take_snapshot(const struct hwr_caller *caller)
{
	void (*call)(void *) = load_acquire(&callback); /* pairs with the release of its setting */

	if (call && !in_callback) {
		in_callback = true;
		call(callback_argument);
		in_callback = false;
	}
	add_relaxed(&hwr_control->snapshots, 1);
	put_moment(caller, HW_MARK_SNAPSHOT, 1, 0);
}

/* Takes the snapshot that somebody outside has asked for. */
static void serve(const struct hwr_caller *caller)
{
	u32 wanted = load_acquire(&hwr_control->snapshots_wanted);
	u32 served = load_relaxed(&hwr_control->snapshots_served);

	if (likely(wanted == served) || in_callback)
		return;
	if (cas_acq_rel(&hwr_control->snapshots_served, &served, wanted))
		take_snapshot(caller);
}

/* ---- landing points ---- */

HWR_EXPORT int heapwise_recorder_state(void)
{
	if (!attached())
		return HEAPWISE_DORMANT;
	hwr_session_obey();
	if (hwr_token.paused)
		return HEAPWISE_PAUSED;
	return load_relaxed(&hwr_token.on) ? HEAPWISE_RECORDING : HEAPWISE_DORMANT;
}

HWR_EXPORT void heapwise_recorder_pause(int paused)
{
	struct hwr_caller caller = HWR_CALLER();
	u32 wanted = paused != 0;

	if (!attached())
		return;
	serve(&caller);
	if (load_relaxed(&hwr_control->paused) == wanted)
		return;
	/* The marks enclose the time in which blocks may be born unseen. */
	if (wanted)
		put_mark(&caller, HW_MARK_PAUSED, 0, 0);
	store_relaxed(&hwr_control->paused, wanted);
	hwr_session_obey();
	if (!wanted)
		put_mark(&caller, HW_MARK_RESUMED, 0, 0);
}

static int fail_with(int failure)
{
	if (!failure)
		return 0;
	errno = failure;
	return -1;
}

static int ask(struct hwr_caller caller, enum hw_request_verb verb, const char *path)
{
	if (!attached())
		return 0;
	serve(&caller);
	if (verb == HW_REQUEST_RESTART && load_relaxed(&hwr_control->stopped) &&
	    hwr_control->sample_bytes)
		hwr_sample_forget();
	return fail_with(hwr_request(verb, path));
}

HWR_EXPORT int heapwise_recorder_stop(void) { return ask(HWR_CALLER(), HW_REQUEST_STOP, NULL); }

HWR_EXPORT int heapwise_recorder_restart(const char *filename)
{
	return filename ? ask(HWR_CALLER(), HW_REQUEST_RESTART, filename) : fail_with(EINVAL);
}

HWR_EXPORT int heapwise_recorder_save(void) { return ask(HWR_CALLER(), HW_REQUEST_SAVE, NULL); }

HWR_EXPORT int heapwise_recorder_dump(const char *filename, int freed)
{
	return ask(HWR_CALLER(), freed ? HW_REQUEST_DUMP_FREED : HW_REQUEST_DUMP, filename);
}

HWR_EXPORT void heapwise_recorder_autosave(uint64_t count)
{
	if (attached())
		store_relaxed(&hwr_control->autosave, count);
}

HWR_EXPORT void heapwise_recorder_mark(uint64_t number, int snapshot)
{
	struct hwr_caller caller = HWR_CALLER();

	if (!attached())
		return;
	serve(&caller);
	if (snapshot)
		take_snapshot(&caller);
	else
		put_moment(&caller, HW_MARK_NUMBER, 0, number);
}

HWR_EXPORT void heapwise_recorder_name(int what, const char *name)
{
	static const u8 marks[] = {HW_MARK_NAMED, HW_MARK_PHASE_BEGIN, HW_MARK_PHASE_END};
	struct hwr_caller caller = HWR_CALLER();

	if (!attached() || what < 0 || what >= (int)sizeof marks)
		return;
	serve(&caller);
	put_moment(&caller, marks[what], name ? hwr_name(name) : 0, 0);
}

HWR_EXPORT void heapwise_recorder_type(const void *pointer, const void *type, const char *name,
				       uint64_t count)
{
	struct hwr_call call = {.caller = HWR_CALLER()};
	u64 identity;

	if (!pointer || !attached())
		return;
	identity = name ? hwr_name(name) : (u64)type;
	if (!identity)
		return;
	hwr_call_begin(&call);
	hwr_call_type(&call, (u64)pointer, identity, count);
}

HWR_EXPORT void heapwise_recorder_object(int what, uint64_t address, uint64_t size,
					 const char *type)
{
	struct hwr_call call = {.caller = HWR_CALLER()};
	u64 identity;

	if (!attached())
		return;
	if (what >= 2) {
		hwr_access_range(address, size, what == 3);
		return;
	}
	hwr_call_begin(&call);
	if (what == 1) {
		hwr_call_object(&call, HW_POOL_FREE, address | HW_POOL_ADDRESS, 0, NULL, NULL);
		return;
	}
	store_relaxed(&hwr_control->objects_told, 1);
	hwr_call_object(&call, HW_POOL, address | HW_POOL_ADDRESS, size, NULL, NULL);
	identity = type ? hwr_name(type) : 0;
	if (identity)
		hwr_call_type(&call, address | HW_POOL_ADDRESS, identity, 1);
}

HWR_EXPORT void heapwise_recorder_on_snapshot(void (*call)(void *), void *argument)
{
	if (!attached())
		return;
	store_release(&callback, NULL);
	callback_argument = argument;
	store_release(&callback, call);
	store_relaxed(&hwr_control->has_callback, call != NULL);
}

HWR_EXPORT void heapwise_recorder_poll(void)
{
	struct hwr_caller caller = HWR_CALLER();

	if (attached())
		serve(&caller);
}
