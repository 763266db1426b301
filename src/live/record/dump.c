/* SPDX-License-Identifier: MIT
 * When dumps are written; see dump.h. Runs on the drain thread, which never waits for one. */
#include "live/record/dump.h"

#include <signal.h>

#include "format/atomics.h"

/* Each dump reads the whole file again. Of regular ones nobody knows how many there will be, so the
 * next waits this many times as long as the last took: they share one processor's tenth. */
enum { RESTS = 10 };

static void *dump_run(void *self_)
{
	struct dump *self = self_;

	self->failure = self->dumper->write(self->dumper->self, &self->wish);
	store_release(&self->done, 1); /* pairs with dump_is_done */
	return NULL;
}

int dump_begin(struct dump *self, const struct dumper *dumper, u64 now_ns)
{
	sigset_t all, old;
	int failure;

	self->dumper = dumper;
	self->begun_ns = now_ns;
	self->failure = 0;
	store_relaxed(&self->done, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failure = pthread_create(&self->thread, NULL, dump_run, self);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	self->under_way = failure == 0;
	return failure;
}

bool dump_is_done(struct dump *self, u64 now_ns, int *failure)
{
	if (!self->under_way || !load_acquire(&self->done))
		return false;
	pthread_join(self->thread, NULL);
	self->under_way = false;
	if (self->wish.regular)
		self->rest_ns = now_ns + RESTS * (now_ns - self->begun_ns);
	*failure = self->failure;
	return true;
}

bool dump_is_due(const struct dump *self, const struct dumper *dumper, u64 frees, u64 now_ns)
{
	return dumper && dumper->every && !self->under_way && now_ns >= self->rest_ns &&
	       frees / dumper->every > self->regular_frees / dumper->every;
}
