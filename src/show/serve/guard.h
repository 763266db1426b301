/* SPDX-License-Identifier: MIT
 * Who is let in. A request needs the token that only the user's terminal has shown, must be meant
 * for this server by its Host, and, if it changes anything, must carry a header that no page of
 * another site can send. */
#ifndef SHOW_SERVE_GUARD_H
#define SHOW_SERVE_GUARD_H

#include "show/serve/listen.h"
#include "show/serve/request.h"

enum { TOKEN_BYTES = 16, TOKEN_CHARS = 2 * TOKEN_BYTES };

/* 128 random bits as hexadecimal digits. */
int token_make(char token[TOKEN_CHARS + 1], struct err *err);

/* Takes as long for a wrong token as for the right one. */
bool token_is(const char *token, const char *given);

struct guard {
	const char *token;
	const char *cookie;  /* name of the cookie that may have the token; NULL = none may */
	const char *methods; /* that are known, "GET, POST" */
	u64 body_max;
};

/* Whether the request may go on to a handler; if not, `refusal` is filled. `local` is the server's
 * end of the connection. */
bool guard_admits(const struct guard *self, const struct request *request,
		  const union listen_address *local, struct answer *refusal);

#endif
