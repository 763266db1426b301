/* SPDX-License-Identifier: MIT
 * Token, Host, method and size of a request; see guard.h. Runs on threads of the
 * server, before anything of the request is acted on. */
#define _GNU_SOURCE
#include "show/serve/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "host/base/options.h"

int token_make(char token[TOKEN_CHARS + 1], struct err *err)
{
	u8 random[TOKEN_BYTES];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_set(err, ERR_SYSTEM, "cannot get random bytes: %s", strerror(errno));
	for (u32 i = 0; i < TOKEN_BYTES; i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

bool token_is(const char *token, const char *given)
{
	u32 difference = 0;

	if (!given || strlen(given) != TOKEN_CHARS)
		return false;
	for (u32 i = 0; i < TOKEN_CHARS; i++)
		difference |= (u32)(token[i] ^ given[i]);
	return difference == 0;
}

/* A header counts before the address, and that before a cookie: what was said on purpose. */
static bool token_given(const struct guard *self, const struct request *request)
{
	static const char scheme[] = "Bearer ";
	char text[TOKEN_CHARS + 1];
	const char *cookie;
	size_t bytes;

	if (request->authorization)
		return strncasecmp(request->authorization, scheme, sizeof(scheme) - 1) == 0 &&
		       token_is(self->token, request->authorization + sizeof(scheme) - 1);
	if (request->token || !self->cookie)
		return token_is(self->token, request->token);
	cookie = cookie_find(request->cookie, self->cookie, &bytes);
	if (!cookie || bytes != TOKEN_CHARS)
		return false;
	memcpy(text, cookie, bytes);
	text[bytes] = 0;
	return token_is(self->token, text);
}

static bool body_admitted(const struct guard *self, const struct request *request,
			  struct answer *refusal)
{
	u64 length = 0;

	if (request->chunked)
		return answer_refuse(refusal, 411, "a request with a body needs a Content-Length");
	if (request->body_length && !parse_number(request->body_length, &length))
		return answer_refuse(refusal, 400, "invalid Content-Length");
	if (length > self->body_max)
		return answer_refuse(refusal, 413, "the body may have at most %llu bytes",
				     (unsigned long long)self->body_max);
	return true;
}

static bool method_is_known(const char *methods, const char *method)
{
	size_t bytes = strlen(method);

	for (const char *at = methods; bytes && (at = strstr(at, method)); at += bytes)
		if ((at == methods || at[-1] == ' ') && (!at[bytes] || at[bytes] == ','))
			return true;
	return false;
}

bool guard_admits(const struct guard *self, const struct request *request,
		  const union listen_address *local, struct answer *refusal)
{
	bool changes = strcmp(request->method, "GET") != 0;

	if (request->hosts != 1 || !address_is_host(local, request->host))
		return answer_refuse(refusal, 421,
				     "unknown host name; use the address that heapwise printed");
	if (!method_is_known(self->methods, request->method)) {
		refusal->allow = self->methods;
		return answer_refuse(refusal, 405, "method not allowed; use %s", self->methods);
	}
	if (!token_given(self, request))
		return answer_refuse(refusal, self->cookie ? 401 : 403,
				     "the token is missing or wrong; use the address that heapwise "
				     "printed");
	if (changes && (!request->mark || strcmp(request->mark, "1") != 0))
		return answer_refuse(refusal, 403, "a %s request needs the header 'X-Heapwise: 1'",
				     request->method);
	return body_admitted(self, request, refusal);
}
