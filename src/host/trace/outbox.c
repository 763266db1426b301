/* SPDX-License-Identifier: MIT
 * The writer's own thread and its queue. Runs in the monitor. The thread takes no signals; after a
 * failure it empties the queue without writing, so that nobody waits for a full disk. */
#include "host/trace/outbox.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "host/trace/blockfile.h"

struct outbox {
	pthread_mutex_t lock;
	pthread_cond_t filled;  /* a parcel came, or closing */
	pthread_cond_t emptied; /* a parcel went */
	struct parcel *first, **last;
	u64 waiting_bytes, waiting_max;
	bool closing;
	int early_failure; /* put side: errno, released; see outbox_fail */
	struct block_file file;
	pthread_t thread;
};

struct parcel *parcel_new(u64 payload_bytes)
{
	struct parcel *parcel = malloc(sizeof(*parcel) + payload_bytes);

	if (!parcel)
		return NULL;
	memset(parcel, 0, sizeof(*parcel));
	parcel->raw.payload = parcel->payload;
	parcel->raw.bytes = payload_bytes;
	parcel->raw.part_bytes = parcel->part_bytes;
	return parcel;
}

/* The next parcel, or NULL when the outbox is closing and empty. */
static struct parcel *take(struct outbox *outbox)
{
	struct parcel *parcel;

	pthread_mutex_lock(&outbox->lock);
	while (!outbox->first && !outbox->closing)
		pthread_cond_wait(&outbox->filled, &outbox->lock);
	parcel = outbox->first;
	if (parcel) {
		outbox->first = parcel->next;
		if (!outbox->first)
			outbox->last = &outbox->first;
	}
	pthread_mutex_unlock(&outbox->lock);
	return parcel;
}

/* Its bytes count as waiting until they are written, so that memory stays bounded. */
static void done(struct outbox *outbox, struct parcel *parcel)
{
	pthread_mutex_lock(&outbox->lock);
	outbox->waiting_bytes -= parcel->raw.bytes;
	pthread_cond_signal(&outbox->emptied);
	pthread_mutex_unlock(&outbox->lock);
	free(parcel);
}

static void *run(void *arg)
{
	struct outbox *outbox = arg;
	struct parcel *parcel;

	block_file_start(&outbox->file);
	while ((parcel = take(outbox))) {
		if (!load_acquire(&outbox->early_failure))
			block_file_append(&outbox->file, &parcel->raw);
		done(outbox, parcel);
	}
	if (!load_acquire(&outbox->early_failure))
		block_file_finish(&outbox->file, true);
	return NULL;
}

static int start_thread(struct outbox *outbox)
{
	sigset_t all, before;
	int failure;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failure = pthread_create(&outbox->thread, NULL, run, outbox);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failure;
}

struct outbox *outbox_open(int fd, const struct outbox_options *options, struct err *err)
{
	struct outbox *outbox = calloc(1, sizeof(*outbox));
	int failure;

	if (!outbox || block_file_init(&outbox->file, fd, 0, options->level) < 0) {
		free(outbox);
		err_memory(err);
		return NULL;
	}
	outbox->last = &outbox->first;
	outbox->waiting_max = options->queue_bytes;
	pthread_mutex_init(&outbox->lock, NULL);
	pthread_cond_init(&outbox->filled, NULL);
	pthread_cond_init(&outbox->emptied, NULL);
	failure = start_thread(outbox);
	if (failure) {
		block_packer_free(outbox->file.packer);
		free(outbox);
		err_set(err, ERR_SYSTEM, "cannot start a thread: %s", strerror(failure));
		return NULL;
	}
	return outbox;
}

void outbox_put(struct outbox *outbox, struct parcel *parcel)
{
	pthread_mutex_lock(&outbox->lock);
	while (outbox->waiting_bytes > outbox->waiting_max)
		pthread_cond_wait(&outbox->emptied, &outbox->lock);
	outbox->waiting_bytes += parcel->raw.bytes;
	*outbox->last = parcel;
	outbox->last = &parcel->next;
	pthread_cond_signal(&outbox->filled);
	pthread_mutex_unlock(&outbox->lock);
}

void outbox_fail(struct outbox *outbox, int failure)
{
	if (!outbox->early_failure)
		store_release(&outbox->early_failure, failure); /* pairs with run, outbox_failed */
}

bool outbox_settled(struct outbox *outbox)
{
	bool settled;

	pthread_mutex_lock(&outbox->lock);
	settled = outbox->waiting_bytes == 0;
	pthread_mutex_unlock(&outbox->lock);
	return settled;
}

void outbox_settle(struct outbox *outbox)
{
	pthread_mutex_lock(&outbox->lock);
	while (outbox->waiting_bytes)
		pthread_cond_wait(&outbox->emptied, &outbox->lock);
	pthread_mutex_unlock(&outbox->lock);
}

u64 outbox_bytes(const struct outbox *outbox) { return load_relaxed(&outbox->file.end); }

int outbox_failed(const struct outbox *outbox)
{
	int failure = load_acquire(&outbox->file.failure);

	return failure ? failure : load_acquire(&outbox->early_failure);
}

int outbox_close(struct outbox *outbox)
{
	int failure;

	pthread_mutex_lock(&outbox->lock);
	outbox->closing = true;
	pthread_cond_signal(&outbox->filled);
	pthread_mutex_unlock(&outbox->lock);
	pthread_join(outbox->thread, NULL);
	failure = block_file_release(&outbox->file);
	if (!failure)
		failure = outbox->early_failure;
	pthread_mutex_destroy(&outbox->lock);
	pthread_cond_destroy(&outbox->filled);
	pthread_cond_destroy(&outbox->emptied);
	free(outbox);
	return failure;
}
