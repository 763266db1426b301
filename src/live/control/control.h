/* SPDX-License-Identifier: MIT
 * What may be done to a running recording from outside the program: by `heapwise ctl`, by a signal,
 * by a file, by a server. A verb is one const struct with a handler; the table grows by
 * control_register. Handlers run on the thread of whoever calls, never on the drain thread or the
 * waiting thread, and may wait for those, with a limit. */
#ifndef LIVE_CONTROL_CONTROL_H
#define LIVE_CONTROL_CONTROL_H

#include "host/base/strbuf.h"
#include "live/record/drain_thread.h"

enum {
	CONTROL_WAIT_SECONDS = 10,
	CONTROL_SCAN_SECONDS = 600, /* a scan of a large program takes that long */
};

struct control {
	struct drain *drain;
};

/* What a verb answers: lines of a key, a space and a value. A value of digits alone is a number,
 * for whoever passes it on with types. */
struct control_reply {
	struct strbuf lines;
};

void control_reply_add(struct control_reply *self, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct control_verb {
	const char *name;
	const char *summary; /* for help: what it does */
	/* process NULL = all that are recorded. 0, or a negative code and err, a whole sentence. */
	int (*run)(struct control *self, struct process *process, struct control_reply *reply,
		   struct err *err);
	bool variant; /* of another one, by an option: not listed */
	bool local;   /* for who can open the control socket, not for a server */
};

/* The table: pause, resume, snapshot, stop, status, and what was registered. NULL after the
 * last. */
const struct control_verb *control_verb_at(u32 index);

/* Whether a verb changes nothing; one that was registered may. */
bool control_only_tells(const struct control_verb *verb);

/* Adds a verb, which must stay; before any recording starts. False if the table is full. */
bool control_register(const struct control_verb *verb);

/* The process with this pid, or, for the monitor's own, all: *process NULL. False: it is not
 * recorded here. */
bool control_find(const struct control *self, u32 pid, struct process **process);

/* Runs a verb by its name. ERR_USAGE if there is none. */
int control_run(struct control *self, const char *verb, struct process *process,
		struct control_reply *reply, struct err *err);

/* Pauses if the program is recorded, resumes if it is paused; returns at once. */
void control_toggle(struct control *self);

/* For handlers: asks for something, of one process or of all, and waits until it is done. 0, or the
 * errno of the first that failed: ESRCH the process has ended, ETIMEDOUT. */
int control_ask(struct control *self, struct process *process, enum ask_what what);

#endif
