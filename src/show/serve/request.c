/* SPDX-License-Identifier: MIT
 * Parameters and headers of requests, and answers; see request.h. Runs on threads of the server.
 * Everything here comes from strangers. */
#define _GNU_SOURCE
#include "show/serve/request.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/atomics.h"
#include "show/render/fields.h"
#include "show/render/gzip.h"

/* ---- requests -------------------------------------------------------------------------------- */

static u32 parameters_kept(const struct request *self)
{
	return self->parameter_count < REQUEST_PARAMETERS ? self->parameter_count
							  : REQUEST_PARAMETERS;
}

const char *request_parameter(const struct request *self, const char *name)
{
	for (u32 i = 0; i < parameters_kept(self); i++)
		if (strcmp(self->parameters[i].name, name) == 0)
			return self->parameters[i].value;
	return NULL;
}

static bool list_has(const char *list, const char *word)
{
	size_t bytes = strlen(word);

	while (*list) {
		size_t length = strcspn(list, " ");

		if (length == bytes && memcmp(list, word, bytes) == 0)
			return true;
		list += length;
		list += *list == ' ';
	}
	return false;
}

const char *request_stranger(const struct request *self, const char *names)
{
	for (u32 i = 0; i < parameters_kept(self); i++)
		if (!*self->parameters[i].name || !list_has(names, self->parameters[i].name))
			return self->parameters[i].name;
	return NULL;
}

bool request_gone(const struct request *self) { return self->gone && self->gone(self->connection); }

/* Whether the parameters of a list's item say that it is not wanted: ";q=0", ";q=0.0". */
static bool is_unwanted(const char *item, size_t bytes)
{
	const char *q = memmem(item, bytes, "q=", 2);

	return q && strtod(q + 2, NULL) <= 0;
}

bool header_has(const char *list, const char *word)
{
	size_t bytes = strlen(word);

	while (list && *list) {
		size_t length, name;

		list += strspn(list, " \t,");
		length = strcspn(list, ",");
		name = strcspn(list, ",; \t");
		if (name == bytes && strncasecmp(list, word, bytes) == 0)
			return !is_unwanted(list + name, length - name);
		list += length;
	}
	return false;
}

const char *cookie_find(const char *cookies, const char *name, size_t *bytes)
{
	size_t length = strlen(name);

	while (cookies && *cookies) {
		cookies += strspn(cookies, " ;");
		if (strncmp(cookies, name, length) == 0 && cookies[length] == '=') {
			*bytes = strcspn(cookies + length + 1, ";");
			return cookies + length + 1;
		}
		cookies += strcspn(cookies, ";");
	}
	return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *status_code(u32 status)
{
	static const struct {
		u32 status;
		const char *code;
	} codes[] = {{400, "bad_request"}, {401, "no_token"},   {403, "forbidden"},
		     {404, "not_found"},   {405, "bad_method"}, {409, "conflict"},
		     {411, "no_length"},   {413, "too_large"},  {421, "wrong_host"},
		     {499, "cancelled"},   {503, "not_ready"},  {501, "not_recorded"}};

	for (u32 i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].status == status)
			return codes[i].code;
	return "failed";
}

static void put_coded(struct json *json, u32 status, const struct answer_fault *fault)
{
	static u32 errors;
	char id[16];

	snprintf(id, sizeof id, "r%u", add_relaxed(&errors, 1) + 1);
	put_object(json, "error", FIELD("code", fault->code ? fault->code : status_code(status)),
		   FIELD("message", fault->message),
		   field_when(fault->has_at, FIELD("at", fault->at)),
		   field_when(fault->box, FIELD("box", fault->box)),
		   field_when(fault->hint, FIELD("hint", fault->hint)), FIELD("id", id));
}

bool answer_fault(struct answer *self, u32 status, const struct answer_fault *fault)
{
	struct json json = {0};

	free(self->body);
	self->body = NULL;
	self->status = status;
	self->type = NULL;
	self->gzip = false;
	self->tag[0] = 0;
	json.out = open_memstream(&self->body, &self->body_bytes);
	if (!json.out)
		return false;
	json_open_flat(&json, NULL, '{');
	if (self->coded)
		put_coded(&json, status, fault);
	else
		json_text(&json, "error", fault->message);
	json_close(&json, '}');
	json_end(&json);
	fclose(json.out);
	return false;
}

bool answer_refuse(struct answer *self, u32 status, const char *format, ...)
{
	struct strbuf sentence = {0};
	va_list arguments;

	va_start(arguments, format);
	strbuf_vaddf(&sentence, format, arguments);
	va_end(arguments);
	answer_fault(self, status, &(struct answer_fault){.message = strbuf_text(&sentence)});
	strbuf_release(&sentence);
	return false;
}

void answer_compress(struct answer *self)
{
	struct strbuf packed = {0};

	if (self->body && gzip_pack(self->body, self->body_bytes, &packed) &&
	    packed.count < self->body_bytes) {
		free(self->body);
		self->body_bytes = packed.count;
		self->body = strbuf_take(&packed);
		self->gzip = true;
	}
	strbuf_release(&packed);
}

void answer_release(struct answer *self)
{
	free(self->body);
	*self = (struct answer){0};
}
