/* SPDX-License-Identifier: MIT
 * What a server serves: the part of it that knows paths. Its functions are called on many threads
 * at once. */
#ifndef SHOW_SERVE_SITE_H
#define SHOW_SERVE_SITE_H

#include "show/serve/request.h"

struct site {
	void *self;
	const char *home;    /* path of the address that is printed, with the token behind it */
	const char *methods; /* that are known, "GET, POST" */
	u64 body_max;        /* bytes of a request's body */
	/* A browser comes with the token in the address of the page, gets it as a cookie and is
	 * sent on to the plain address; and errors are objects. */
	bool for_browsers;
	/* Before the body: what is wanted, or false and the refusal. *plan is release()d in any
	 * case. */
	bool (*find)(void *self, const struct request *request, void **plan,
		     struct answer *refusal);
	/* With the body, if there is one. May take its time. */
	void (*run)(void *self, const struct request *request, void *plan, struct answer *answer);
	void (*release)(void *plan);
};

#endif
