/* SPDX-License-Identifier: MIT
 * Literal and regular patterns.
 * Host. Patterns come from strangers. */
#define _GNU_SOURCE
#include "study/layout/pattern.h"

#include <ctype.h>
#include <string.h>

#include "host/base/pattern.h"

static int regex_init(struct view_pattern *self, const char *text, struct err *err)
{
	size_t length = strlen(text);
	int flags = REG_EXTENDED | REG_NOSUB;
	char body[PATTERN_BYTES], why[128];
	const char *trouble;
	int status;

	if (text[length - 1] == 'i') {
		flags |= REG_ICASE;
		length--;
	}
	memcpy(body, text + 1, length - 2);
	body[length - 2] = 0;
	trouble = pattern_trouble(body);
	if (trouble)
		return err_set(err, ERR_USAGE, "%s", trouble);
	status = regcomp(&self->regex, body, flags);
	if (status == 0) {
		self->is_regex = true;
		return 0;
	}
	regerror(status, &self->regex, why, sizeof why);
	return err_set(err, ERR_USAGE, "invalid regular expression /%.100s/: %s", body, why);
}

static bool looks_regular(const char *text)
{
	size_t length = strlen(text);

	return length >= 3 && text[0] == '/' &&
	       (text[length - 1] == '/' ||
		(length >= 4 && text[length - 1] == 'i' && text[length - 2] == '/'));
}

int view_pattern_init(struct view_pattern *self, const char *text, struct err *err)
{
	size_t length = strlen(text);

	memset(self, 0, sizeof *self);
	if (length >= PATTERN_BYTES)
		return err_set(err, ERR_USAGE, "a pattern must have at most %d bytes",
			       PATTERN_BYTES - 1);
	if (looks_regular(text))
		return regex_init(self, text, err);
	for (size_t i = 0; i < length; i++)
		self->text[i] = (char)tolower((u8)text[i]);
	return 0;
}

void view_pattern_release(struct view_pattern *self)
{
	if (self->is_regex)
		regfree(&self->regex);
	self->is_regex = false;
}

bool view_pattern_matches(const struct view_pattern *self, const char *name)
{
	if (self->is_regex)
		return regexec(&self->regex, name, 0, NULL, 0) == 0;
	return strcasestr(name, self->text) != NULL;
}
