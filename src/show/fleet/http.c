/* SPDX-License-Identifier: MIT
 * Requests to the servers of a fleet.
 * Host. Never prints, never logs an address: passwords are in headers only. */
#include "show/fleet/http.h"

#include <curl/curl.h>
#include <stddef.h>
#include <stdlib.h>

#include "host/base/library.h"

enum {
	CONNECT_SECONDS = 10,
	STALL_SECONDS = 120, /* without a byte in either direction: a query may take its time */
};

#define CURL_FUNCTIONS(X)                                                                          \
	X(global_init)                                                                             \
	X(global_cleanup)                                                                          \
	X(easy_init)                                                                               \
	X(easy_cleanup)                                                                            \
	X(easy_reset)                                                                              \
	X(easy_setopt)                                                                             \
	X(easy_perform)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_strerror)                                                                           \
	X(slist_append)                                                                            \
	X(slist_free_all)

static struct curl {
#define X(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(X)
#undef X
} lib;

static int load(struct err *err)
{
#define X(name) {"curl_" #name, offsetof(struct curl, name)},
	static const struct library_function functions[] = {CURL_FUNCTIONS(X)};
#undef X
	const struct library library = {HEAPWISE_LIBCURL, "libcurl4", functions,
					sizeof(functions) / sizeof(*functions)};

	return library_load(&library, &lib, err);
}

void *http_new(struct err *err)
{
	void *curl;

	if (load(err) < 0)
		return NULL;
	curl = lib.global_init(CURL_GLOBAL_DEFAULT) == 0 ? lib.easy_init() : NULL;
	if (!curl)
		err_memory(err);
	return curl;
}

void http_free(void *curl)
{
	if (!curl)
		return;
	lib.easy_cleanup(curl);
	lib.global_cleanup();
}

struct listener {
	struct strbuf *answer;
	u64 room; /* bytes that may still come */
	bool longer;
};

static size_t on_answer(char *bytes, size_t size, size_t count, void *data)
{
	struct listener *self = data;
	u64 taken = size * count < self->room ? size * count : self->room;

	strbuf_add_bytes(self->answer, bytes, taken);
	self->room -= taken;
	self->longer = taken < size * count;
	return self->answer->failed ? 0 : taken;
}

static void set_up(CURL *curl, const struct http_request *request, struct curl_slist *headers,
		   struct listener *listener)
{
	lib.easy_reset(curl);
	lib.easy_setopt(curl, CURLOPT_URL, request->url);
	lib.easy_setopt(curl, CURLOPT_POST, 1L);
	lib.easy_setopt(curl, CURLOPT_POSTFIELDS, request->bytes ? request->body : "");
	lib.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->bytes);
	lib.easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	lib.easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer);
	lib.easy_setopt(curl, CURLOPT_WRITEDATA, listener);
	lib.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	lib.easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
	lib.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	lib.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	lib.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
}

static struct curl_slist *list_headers(const char *const *headers)
{
	struct curl_slist *list = lib.slist_append(NULL, "Expect:");

	for (; list && headers && *headers; headers++) {
		struct curl_slist *longer = lib.slist_append(list, *headers);

		if (!longer) {
			lib.slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

int http_post(void *curl, const struct http_request *request, struct strbuf *answer,
	      struct err *err)
{
	struct curl_slist *headers = list_headers(request->headers);
	struct listener listener = {.answer = answer, .room = request->answer_max};
	long status = 0;
	CURLcode code;

	if (!headers)
		return err_memory(err);
	strbuf_clear(answer);
	set_up(curl, request, headers, &listener);
	code = lib.easy_perform(curl);
	lib.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	lib.slist_free_all(headers);
	if (code == CURLE_COULDNT_CONNECT)
		return err_set(err, ERR_SYSTEM,
			       "cannot reach %s: no answer; check the address and "
			       "that the server runs",
			       request->where);
	if (listener.longer && status >= 200 && status < 300)
		return err_set(err, ERR_SYSTEM, "the answer of %s has more than %llu MiB",
			       request->where, (unsigned long long)(request->answer_max >> 20));
	/* The beginning of an error says enough. */
	if (code != CURLE_OK && !listener.longer)
		return err_set(err, ERR_SYSTEM, "cannot reach %s: %s", request->where,
			       lib.easy_strerror(code));
	return (int)status;
}

void http_escape(struct strbuf *out, const char *text)
{
	for (; *text; text++)
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') || *text == '_' || *text == '-' || *text == '.')
			strbuf_add_char(out, *text);
		else
			strbuf_addf(out, "%%%02X", (u8)*text);
}
