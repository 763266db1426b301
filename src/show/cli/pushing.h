/* SPDX-License-Identifier: MIT
 * Traces on their way to a store: what `push` and `run --push` have in common. Says on stderr what
 * goes wrong. */
#ifndef SHOW_CLI_PUSHING_H
#define SHOW_CLI_PUSHING_H

#include "show/cli/command.h"
#include "show/fleet/profile.h"
#include "show/fleet/push.h"
#include "study/result/result.h"

struct pushing { /* the first are the caller's, the others all zero */
	const struct command *command;
	const struct option_strings *labels; /* "key=value" */
	const char *host, *version, *build;  /* NULL = not given */
	u64 image;                           /* NOT_GIVEN = the last */
	bool symbols, chunks, trace, partial;

	/* What was kept of a run with its trace replaces what is said here; texts go into the
	 * arena. May be NULL. */
	int (*kept_about)(const char *path, struct arena *arena, struct run_about *about,
			  struct err *err);

	/* Called for each trace that the store has then; may be NULL. */
	void (*delivered)(const char *path, void *self);
	void *delivered_self;

	bool opened;
	char host_name[256];
	struct pusher pusher;
	struct profile_server profiles; /* instead, if it has an address */
	u64 sent_profiles;
	u64 wanted, there, failed; /* runs */
	double seconds;
};

/* Overwrites the password in `address`, which is in argv. Returns the exit status. */
int pushing_open(struct pushing *self, const char *address);

/* Pushes traces and folders of them; EXIT_DONE if all of them are in the store then. */
int pushing_all(struct pushing *self, int count, char **operands);

/* Of the run: host, version, build and labels. Borrows from self. */
struct run_about pushing_about(struct pushing *self);

/* Delivers what is in a spool (show/fleet/spool.h). What cannot be stays there, up to max_bytes:
 * the oldest go first, and that is told. One process at a time delivers; others leave it to that
 * one. EXIT_DONE if nothing is left that could be delivered. What is kept with a trace is told of
 * it, and nothing that self tells. */
int pushing_deliver(struct pushing *self, const char *address, const char *folder, u64 max_bytes);

/* What was done, a record named "push"; NULL if there is no memory. */
struct result *pushing_result(const struct pushing *self);
void pushing_close(struct pushing *self);

#endif
