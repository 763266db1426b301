/* SPDX-License-Identifier: MIT
 * Traces that a browser sends, piece by piece: files in a folder of their own, which is removed
 * with the server. Runs on threads of the server. */
#ifndef SHOW_SERVE_UPLOADS_H
#define SHOW_SERVE_UPLOADS_H

#include <pthread.h>

#include "host/base/err.h"
#include "host/base/strbuf.h"

struct uploads { /* all zero = nothing was sent yet */
	pthread_mutex_t lock;
	struct strbuf folder; /* of this server's, made by the first piece */
	u32 taken;            /* whole files so far, each in a folder .NUMBER */
};

void uploads_init(struct uploads *self);
/* Removes what was sent; nobody reads it any more. */
void uploads_release(struct uploads *self);

/* The piece of a file at that offset, which must be its end; 0 begins it anew. ERR_USAGE: a name
 * that is none, or another offset. */
int uploads_put(struct uploads *self, const char *name, u64 offset, const struct strbuf *piece,
		struct err *err);

/* The file is whole: where it is from now on, which no later piece can change. For free; NULL: err
 * says why, ERR_INPUT: no such file was sent. */
char *uploads_take(struct uploads *self, const char *name, struct err *err);

#endif
