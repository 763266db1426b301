/* SPDX-License-Identifier: MIT
 * One HTTP request with libcurl, which is loaded for it: a body goes out, an answer comes back. */
#ifndef SHOW_FLEET_HTTP_H
#define SHOW_FLEET_HTTP_H

#include "host/base/err.h"
#include "host/base/strbuf.h"

/* bytes of an answer that says whether it was done, or has some thousand numbers */
enum { HTTP_SHORT = 1 << 20 };

struct http_request {
	const char *url;            /* without a password */
	const char *where;          /* "host:port", for errors */
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	const void *body;
	u64 bytes;
	/* bytes; an answer that is longer is an error, an error that is longer is cut */
	u64 answer_max;
};

void *http_new(struct err *err); /* NULL: it cannot be had */
void http_free(void *curl);

/* POST. Connections are kept and used again. Returns the status of the answer, or a negative code
 * if none came. */
int http_post(void *curl, const struct http_request *request, struct strbuf *answer,
	      struct err *err);

/* Appends a text as it may stand in a query of an address. */
void http_escape(struct strbuf *out, const char *text);

#endif
