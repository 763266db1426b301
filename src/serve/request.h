/* SPDX-License-Identifier: MIT
 * A request as the checks and the handlers see it, and what they answer: plain text, without the
 * library that carries it, so that both can be tested alone. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "format/types.h"

enum { REQUEST_BODY_MAX = 4096 }; /* bytes; no request needs a body yet */

struct request { /* texts are NULL if they were not sent */
	const char *method, *path;
	const char *host;
	u32 hosts; /* how many of them: one is right */
	const char *authorization;
	const char *mark;        /* X-Heapwise */
	const char *body_length; /* Content-Length */
	bool chunked;            /* the body's length is not said before */
	const char *token, *pid; /* of the query */
	const char *stranger;    /* a word of the query that nobody knows */
};

struct answer {
	u32 status; /* of HTTP; 0 = none yet */
	char *body; /* JSON, owned; NULL if there was no memory */
	size_t body_bytes;
	const char *allow; /* with status 405: the method that is right */
};

/* {"error": SENTENCE}. Returns false, which is what a check says that refuses. */
bool answer_refuse(struct answer *self, u32 status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void answer_release(struct answer *self);

#endif
