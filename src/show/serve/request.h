/* SPDX-License-Identifier: MIT
 * A request as the checks and the handlers see it, and what they answer: plain text, without the
 * library that carries it, so that both can be tested alone. */
#ifndef SHOW_SERVE_REQUEST_H
#define SHOW_SERVE_REQUEST_H

#include "host/base/strbuf.h"
#include "format/types.h"

enum {
	REQUEST_BODY_MAX = 4096, /* bytes, where no handler needs a body */
	REQUEST_PARAMETERS = 40, /* in the address; more are refused */
};

struct request_parameter {
	const char *name, *value; /* decoded, value never NULL */
};

struct request { /* texts are NULL if they were not sent */
	const char *method, *path;
	const char *host;
	u32 hosts; /* how many of them: one is right */
	const char *authorization;
	const char *cookie;
	const char *mark;        /* X-Heapwise */
	const char *body_length; /* Content-Length */
	bool chunked;            /* the body's length is not said before */
	const char *accept, *accept_encoding;
	const char *known_tag;                                   /* If-None-Match */
	const char *last_event;                                  /* Last-Event-ID */
	const char *token;                                       /* of the address */
	struct request_parameter parameters[REQUEST_PARAMETERS]; /* all others of the address */
	u32 parameter_count; /* may be more than there is room for */
	const char *body;    /* terminated; NULL = none */
	size_t body_bytes;
	/* Whether the client has gone, so that nobody waits for the answer; NULL = cannot be
	 * known. */
	bool (*gone)(void *connection);
	void *connection;
};

/* The first parameter of that name, or NULL. */
const char *request_parameter(const struct request *self, const char *name);

/* A parameter that is none of these words (a list with spaces between), or NULL. */
const char *request_stranger(const struct request *self, const char *names);

bool request_gone(const struct request *self);

/* Whether a list of a header (Accept, Accept-Encoding) has the word, and not with q=0. */
bool header_has(const char *list, const char *word);

/* The value of a cookie, or NULL; `bytes` is its length. */
const char *cookie_find(const char *cookies, const char *name, size_t *bytes);

/* An answer that is made while it is sent, for as long as the client stays. */
struct answer_stream {
	void *self;
	/* Waits until there is something to send, at most `room` bytes; 0 = that was all. */
	size_t (*read)(void *self, char *to, size_t room);
	void (*free)(void *self);
};

struct answer {
	u32 status; /* of HTTP; 0 = none yet */
	char *body; /* owned; NULL if there was no memory */
	size_t body_bytes;
	struct answer_stream stream; /* instead of the body; read NULL = none */
	bool coded;                  /* errors are objects with a code, not sentences alone */
	const char *type;            /* NULL = JSON */
	const char *allow;           /* with status 405: the method that is right */
	const char *location;        /* of a redirection */
	char cookie[96];             /* to be set, "" = none */
	char tag[48];                /* ETag with its quotes, "" = none: not to be stored */
	u32 retry_seconds;           /* with status 503 */
	u64 parse_ns, write_ns;      /* parts of the time that it took */
	bool is_page;                /* may load scripts and styles of this server */
	bool gzip;                   /* the body is compressed */
};

/* {"error": SENTENCE}, or with `coded` {"error": {"code", "message", "id"}}, where the code is the
 * status's. Returns false, which is what a check says that refuses. */
bool answer_refuse(struct answer *self, u32 status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What is wrong with a request, more exactly than its status says. */
struct answer_fault {
	const char *code; /* "bad_query"; NULL = that of the status */
	const char *message;
	bool has_at;
	u64 at;           /* where in the text that was sent, in characters from 0 */
	const char *box;  /* of a filter graph that was sent; NULL = none */
	const char *hint; /* NULL = none */
};
bool answer_fault(struct answer *self, u32 status, const struct answer_fault *fault);

/* Compresses the body if that makes it smaller. */
void answer_compress(struct answer *self);

void answer_release(struct answer *self);

#endif
