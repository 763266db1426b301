/* SPDX-License-Identifier: MIT
 * Progress, drawn by a thread of its own: analyses need not know of it.
 * Host. */
#include "show/cli/print.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/text.h"

enum { SILENT_NS = 1000000000, DRAW_NS = 250000000 };

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const char *doing, *path; /* NULL = nothing is drawn */
	double share;             /* below 0 = unknown */
	u64 begun_ns;
	bool running, ending;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The cursor stays at the start of the line, so that a message overwrites it. */
static void draw(void)
{
	fprintf(stderr, "\033[Kheapwise: %s ", progress.doing);
	text_put(stderr, progress.path, "", '?');
	if (progress.share >= 0)
		fprintf(stderr, ": %d %%\r", (int)(progress.share * 100));
	else
		fprintf(stderr, ": %llu s\r",
			(unsigned long long)((now_ns() - progress.begun_ns) / 1000000000));
	fflush(stderr);
}

static void *draw_all(void *unused)
{
	bool drawn = false;

	(void)unused;
	pthread_mutex_lock(&progress.lock);
	while (!progress.ending) {
		struct timespec until = clock_time(now_ns() + DRAW_NS);

		pthread_cond_timedwait(&progress.changed, &progress.lock, &until);
		if (!progress.ending && now_ns() - progress.begun_ns >= SILENT_NS) {
			draw();
			drawn = true;
		}
	}
	if (drawn)
		fputs("\033[K", stderr);
	pthread_mutex_unlock(&progress.lock);
	return NULL;
}

/* Signals are for the other threads. */
static void start(void)
{
	sigset_t all, before;

	progress.begun_ns = now_ns();
	progress.ending = false;
	clock_cond_init(&progress.changed);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	progress.running = pthread_create(&progress.thread, NULL, draw_all, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_phase(const char *doing, const char *path)
{
	if (!isatty(STDERR_FILENO))
		return;
	pthread_mutex_lock(&progress.lock);
	progress.doing = doing;
	progress.path = path;
	progress.share = -1;
	pthread_mutex_unlock(&progress.lock);
	if (!progress.running)
		start();
}

void progress_share(void *unused, double share)
{
	(void)unused;
	pthread_mutex_lock(&progress.lock);
	progress.share = share;
	pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
	if (!progress.running)
		return;
	pthread_mutex_lock(&progress.lock);
	progress.ending = true;
	pthread_cond_signal(&progress.changed);
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.thread, NULL);
	pthread_cond_destroy(&progress.changed);
	progress.running = false;
}
