/* SPDX-License-Identifier: MIT
 * Token, Host, method and size of a request; see guard.h. Runs in the monitor, on threads of the
 * server, before anything of the request is acted on. */
#define _GNU_SOURCE
#include "serve/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/options.h"

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

static const char *token_given(const struct request *request)
{
	static const char scheme[] = "Bearer ";

	if (!request->authorization)
		return request->token;
	if (strncasecmp(request->authorization, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	return request->authorization + sizeof(scheme) - 1;
}

static bool body_admitted(const struct request *request, struct answer *refusal)
{
	u64 length = 0;

	if (request->chunked)
		return answer_refuse(refusal, 411, "a body needs a Content-Length");
	if (request->body_length && !parse_number(request->body_length, &length))
		return answer_refuse(refusal, 400, "the Content-Length was not understood");
	if (length > REQUEST_BODY_MAX)
		return answer_refuse(refusal, 413, "a body may have at most %d bytes",
				     REQUEST_BODY_MAX);
	return true;
}

bool guard_admits(const struct request *request, const union listen_address *local,
		  const char *token, struct answer *refusal)
{
	bool post = strcmp(request->method, "POST") == 0;

	if (request->hosts != 1 || !address_is_host(local, request->host))
		return answer_refuse(refusal, 421,
				     "no server of that name is here: use the "
				     "address that heapwise has printed");
	if (!post && strcmp(request->method, "GET") != 0) {
		refusal->allow = "GET, POST";
		return answer_refuse(refusal, 405, "only GET and POST are known here");
	}
	if (!token_is(token, token_given(request)))
		return answer_refuse(refusal, 403,
				     "the token is missing or wrong: it is in the address that "
				     "heapwise has printed");
	if (post && (!request->mark || strcmp(request->mark, "1") != 0))
		return answer_refuse(refusal, 403, "a POST needs the header 'X-Heapwise: 1'");
	return body_admitted(request, refusal);
}
