/* SPDX-License-Identifier: MIT
 * A JSON reader.
 * Host. Input comes from strangers.
 * Our own, because yyjson is not a package of Debian 12. */
#include "host/base/jsontree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/strbuf.h"

struct reader {
	const char *text, *at, *end;
	struct arena *arena;
	struct err *err;
	u32 depth, nodes;
};

static bool fail(struct reader *self, const char *what)
{
	err_set(self->err, ERR_INPUT, "byte %llu: %s", (unsigned long long)(self->at - self->text),
		what);
	return false;
}

static bool no_memory(struct reader *self)
{
	err_memory(self->err);
	return false;
}

static void skip_space(struct reader *self)
{
	while (self->at < self->end && strchr(" \t\r\n", *self->at) && *self->at)
		self->at++;
}

static bool accept(struct reader *self, char c)
{
	skip_space(self);
	if (self->at >= self->end || *self->at != c)
		return false;
	self->at++;
	return true;
}

static struct json_node *node_new(struct reader *self, enum json_kind kind)
{
	struct json_node *node;

	if (self->nodes++ == JSON_NODES_MAX) {
		fail(self, "too many values");
		return NULL;
	}
	node = arena_new(self->arena, struct json_node);
	if (!node) {
		no_memory(self);
		return NULL;
	}
	node->kind = kind;
	return node;
}

/* ---- strings ---- */

static bool read_hex(struct reader *self, u32 *code)
{
	*code = 0;
	if (self->end - self->at < 4)
		return fail(self, "expected four hexadecimal digits after \\u");
	for (u32 i = 0; i < 4; i++, self->at++) {
		char c = *self->at;
		u32 digit = c >= '0' && c <= '9'   ? (u32)(c - '0')
			    : c >= 'a' && c <= 'f' ? (u32)(c - 'a') + 10
			    : c >= 'A' && c <= 'F' ? (u32)(c - 'A') + 10
						   : 16;

		if (digit == 16)
			return fail(self, "expected four hexadecimal digits after \\u");
		*code = *code << 4 | digit;
	}
	return true;
}

/* After "\u": one code, or a pair of surrogates. */
static bool read_unicode(struct reader *self, struct strbuf *out)
{
	u32 code, low;

	if (!read_hex(self, &code))
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		if (self->end - self->at < 2 || self->at[0] != '\\' || self->at[1] != 'u')
			return fail(self, "unpaired surrogate");
		self->at += 2;
		if (!read_hex(self, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(self, "unpaired surrogate");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code >= 0xdc00 && code < 0xe000) {
		return fail(self, "unpaired surrogate");
	}
	if (!code)
		return fail(self, "\\u0000 is not allowed in a string");
	strbuf_add_utf8(out, code);
	return true;
}

static bool read_escape(struct reader *self, struct strbuf *out)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char c = self->at < self->end ? *self->at++ : 0;
	const char *found = c ? strchr(plain, c) : NULL;

	if (c == 'u')
		return read_unicode(self, out);
	if (!found)
		return fail(self, "unknown escape");
	strbuf_add_char(out, meant[found - plain]);
	return true;
}

/* After the opening quote; NULL and err. */
static const char *read_string(struct reader *self)
{
	struct strbuf text = {0};
	const char *kept = NULL;

	for (;;) {
		u8 c = self->at < self->end ? (u8)*self->at : 0;

		if (self->at >= self->end || c < 0x20) {
			fail(self, "unterminated string");
			break;
		}
		self->at++;
		if (c == '"') {
			kept = text.failed ? NULL
					   : arena_copy_text(self->arena, strbuf_text(&text),
							     text.count);
			if (!kept)
				no_memory(self);
			break;
		}
		if (c != '\\')
			strbuf_add_char(&text, (char)c);
		else if (!read_escape(self, &text))
			break;
	}
	strbuf_release(&text);
	return kept;
}

/* ---- values ---- */

static struct json_node *read_value(struct reader *self);

static struct json_node *read_number(struct reader *self)
{
	const char *start = self->at;
	char digits[64];
	struct json_node *node;
	char *end;
	size_t length;

	while (self->at < self->end && *self->at && strchr("+-.0123456789eE", *self->at))
		self->at++;
	length = (size_t)(self->at - start);
	if (length == 0 || length >= sizeof digits ||
	    (*start != '-' && (*start < '0' || *start > '9'))) {
		fail(self, "expected a value");
		return NULL;
	}
	memcpy(digits, start, length);
	digits[length] = 0;
	node = node_new(self, JSON_NUMBER);
	if (!node)
		return NULL;
	node->number = strtod(digits, &end);
	if (*end || !isfinite(node->number)) {
		fail(self, "invalid number");
		return NULL;
	}
	return node;
}

static struct json_node *read_word(struct reader *self)
{
	static const struct {
		const char *word;
		enum json_kind kind;
		double number;
	} words[] = {{"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}, {"null", JSON_NULL, 0}};

	for (u32 i = 0; i < 3; i++) {
		size_t length = strlen(words[i].word);
		struct json_node *node;

		if ((size_t)(self->end - self->at) < length ||
		    memcmp(self->at, words[i].word, length) != 0)
			continue;
		self->at += length;
		node = node_new(self, words[i].kind);
		if (node)
			node->number = words[i].number;
		return node;
	}
	return read_number(self);
}

static struct json_node *read_element(struct reader *self, bool has_key)
{
	const char *key = NULL;
	struct json_node *node;

	if (has_key) {
		if (!accept(self, '"')) {
			fail(self, "expected the name of a member");
			return NULL;
		}
		key = read_string(self);
		if (!key)
			return NULL;
		if (!accept(self, ':')) {
			fail(self, "expected a colon");
			return NULL;
		}
	}
	node = read_value(self);
	if (node)
		node->key = key;
	return node;
}

static struct json_node *read_container(struct reader *self, enum json_kind kind, char close)
{
	struct json_node *node = node_new(self, kind), **link;

	if (!node)
		return NULL;
	if (self->depth++ == JSON_DEPTH_MAX) {
		fail(self, "brackets are nested too deeply");
		return NULL;
	}
	link = &node->first;
	if (!accept(self, close)) {
		do {
			*link = read_element(self, kind == JSON_OBJECT);
			if (!*link)
				return NULL;
			link = &(*link)->next;
			node->count++;
		} while (accept(self, ','));
		if (!accept(self, close)) {
			fail(self, "expected a comma or the end of the list");
			return NULL;
		}
	}
	self->depth--;
	return node;
}

static struct json_node *read_value(struct reader *self)
{
	struct json_node *node;

	if (accept(self, '{'))
		return read_container(self, JSON_OBJECT, '}');
	if (accept(self, '['))
		return read_container(self, JSON_ARRAY, ']');
	if (!accept(self, '"'))
		return read_word(self);
	node = node_new(self, JSON_STRING);
	if (!node)
		return NULL;
	node->text = read_string(self);
	return node->text ? node : NULL;
}

const struct json_node *json_read(const char *text, u64 length, struct arena *arena,
				  struct err *err)
{
	struct reader reader = {
		.text = text, .at = text, .end = text + length, .arena = arena, .err = err};
	const struct json_node *node = read_value(&reader);

	skip_space(&reader);
	if (node && reader.at < reader.end) {
		fail(&reader, "unexpected text after the value");
		return NULL;
	}
	return node;
}

const struct json_node *json_member(const struct json_node *node, const char *name)
{
	if (!node || node->kind != JSON_OBJECT)
		return NULL;
	for (const struct json_node *member = node->first; member; member = member->next)
		if (strcmp(member->key, name) == 0)
			return member;
	return NULL;
}

const char *json_text_of(const struct json_node *node)
{
	return node && node->kind == JSON_STRING ? node->text : NULL;
}

double json_number_of(const struct json_node *node, double otherwise)
{
	return node && node->kind == JSON_NUMBER ? node->number : otherwise;
}
