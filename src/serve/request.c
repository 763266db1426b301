/* SPDX-License-Identifier: MIT
 * Answers; see request.h. Runs in the monitor, on threads of the server. */
#define _GNU_SOURCE
#include "serve/request.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "output/json.h"

bool answer_refuse(struct answer *self, u32 status, const char *format, ...)
{
	struct json json = {0};
	struct strbuf sentence = {0};
	va_list arguments;

	self->status = status;
	va_start(arguments, format);
	strbuf_vaddf(&sentence, format, arguments);
	va_end(arguments);
	json.out = open_memstream(&self->body, &self->body_bytes);
	if (json.out) {
		json_open_flat(&json, NULL, '{');
		json_text(&json, "error", strbuf_text(&sentence));
		json_close(&json, '}');
		json_end(&json);
		fclose(json.out);
	}
	strbuf_release(&sentence);
	return false;
}

void answer_release(struct answer *self)
{
	free(self->body);
	*self = (struct answer){0};
}
