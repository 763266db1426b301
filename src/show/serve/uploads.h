/* SPDX-License-Identifier: MIT
 * Traces that a browser sends, piece by piece: files in a folder of their own, which is removed
 * with the server. Each has a number, so that two of one name do not meet. Runs on threads of the
 * server. */
#ifndef SHOW_SERVE_UPLOADS_H
#define SHOW_SERVE_UPLOADS_H

#include <pthread.h>

#include "host/base/err.h"
#include "host/base/strbuf.h"

enum { UPLOADS_MAX = 16 };

struct upload { /* path NULL = a place that is free */
	u32 number;
	char *path;
	u64 bytes;
	u32 turn; /* of its last piece */
};

struct uploads { /* all zero = nothing was sent yet */
	pthread_mutex_t lock;
	struct strbuf folder; /* of this server's, made by the first piece */
	u32 begun;            /* uploads so far, each in a folder of its number */
	u32 turns;            /* pieces so far */
	u64 bytes;            /* that the files take, those of open traces included */
	struct upload open[UPLOADS_MAX];
};

void uploads_init(struct uploads *self);
/* Removes what was sent; nobody reads it any more. */
void uploads_release(struct uploads *self);

struct upload_piece {
	const char *name;
	u32 number; /* of the upload; 0 begins one, whose number is here then */
	u64 offset; /* the end of what was sent before */
	const void *bytes;
	u64 count;
};

/* Adds a piece. An upload that cannot be kept is removed; so is, if a new one finds no place, the
 * one that has waited longest for its next piece. All files together may take half of the space
 * that there is. ERR_USAGE: a name that is none, or another offset; ERR_INPUT: no such number. */
int uploads_put(struct uploads *self, struct upload_piece *piece, struct err *err);

/* The file is whole: its path, for free, and no later piece changes it. NULL: err says why,
 * ERR_INPUT: no such number. */
char *uploads_take(struct uploads *self, u32 number, struct err *err);

/* Removes a file that was taken, and frees the path. */
void uploads_remove(struct uploads *self, char *path);

#endif
