/* SPDX-License-Identifier: MIT
 * Speaks with ClickHouse: addresses, statements, rows, and its errors as sentences.
 * Host. Passwords go into headers and nowhere else. */
#include "show/fleet/store.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/options.h"
#include "show/render/gzip.h"
#include "show/fleet/http.h"

enum {
	PORT = 8123,
	SHARDS_MAX = 256,
	/* bytes of one that grows with the store: a row for each place, with a number for each
	 * run */
	ANSWER_MAX = 256 << 20,
};

/* ---- addresses ---- */

bool store_is_address(const char *address)
{
	return strncmp(address, "clickhouse://", 13) == 0 ||
	       strncmp(address, "clickhouses://", 14) == 0;
}

void address_hide_password(char *address)
{
	char *start = strstr(address, "://");
	char *end = start ? start + 3 + strcspn(start + 3, "/") : NULL;
	char *at = NULL, *colon;

	for (char *c = start ? start + 3 : NULL; c && c < end; c++)
		at = *c == '@' ? c : at;
	colon = at ? memchr(start + 3, ':', (size_t)(at - start - 3)) : NULL;
	if (colon)
		memset(colon + 1, 'x', (size_t)(at - colon - 1));
}

/* A name that can stand in a statement without quotes. */
static bool is_identifier(const char *text)
{
	if (!isalpha((u8)*text) && *text != '_')
		return false;
	for (; *text; text++)
		if (!isalnum((u8)*text) && *text != '_')
			return false;
	return true;
}

/* %40 → @, in place. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		char digits[3] = {0};

		if (*text == '%' && isxdigit((u8)text[1]) && isxdigit((u8)text[2])) {
			memcpy(digits, text + 1, 2);
			*out++ = (char)strtoul(digits, NULL, 16);
			text += 2;
		} else {
			*out++ = *text;
		}
	}
	*out = 0;
}

static void take_user(struct store *self, char *user)
{
	char *colon = strchr(user, ':');
	const char *secret = getenv("HEAPWISE_PASSWORD");

	if (colon)
		*colon = 0;
	unescape(user);
	if (*user)
		self->user = user;
	if (colon)
		unescape(colon + 1);
	self->password = colon ? colon + 1 : secret ? secret : "";
}

static int take_host(struct store *self, char *host, struct err *err)
{
	struct store_shard shard = {.host = host, .port = PORT};
	char *bracket = *host == '[' ? strchr(host, ']') : NULL;
	char *colon = strrchr(bracket ? bracket : host, ':');
	u64 port = PORT;

	if (colon) {
		*colon = 0;
		if (!parse_number(colon + 1, &port) || port == 0 || port > 65535)
			return err_set(err, ERR_USAGE, "'%s' is not a port", colon + 1);
		shard.port = (u32)port;
	}
	if (!*host)
		return err_set(err, ERR_USAGE,
			       "the address has no host; expected clickhouse://HOST:PORT/DATABASE");
	if (self->shards.count == SHARDS_MAX)
		return err_set(err, ERR_USAGE, "more than %d shards", SHARDS_MAX);
	return vec_push(&self->shards, shard) ? 0 : err_memory(err);
}

static int take_hosts(struct store *self, char *hosts, struct err *err)
{
	int status = 0;

	while (hosts && status == 0) {
		char *comma = strchr(hosts, ',');

		if (comma)
			*comma = 0;
		status = take_host(self, hosts, err);
		hosts = comma ? comma + 1 : NULL;
	}
	return status;
}

int store_open(struct store *self, const char *address, struct err *err)
{
	char *text = arena_copy(&self->arena, address), *hosts, *slash, *at;

	self->curl = http_new(err);
	if (!self->curl)
		return err->code;
	if (!text)
		return err_memory(err);
	if (!store_is_address(address))
		return err_set(err, ERR_USAGE,
			       "a store must be clickhouse://[USER@]HOST:PORT/DATABASE");
	self->scheme = address[strlen("clickhouse")] == 's' ? "https" : "http";
	hosts = strstr(text, "://") + 3;
	slash = strchr(hosts, '/');
	if (!slash || !is_identifier(slash + 1))
		return err_set(err, ERR_USAGE,
			       "the address of the store must end with the name of a database: "
			       "letters, digits and _");
	*slash = 0;
	self->database = slash + 1;
	self->user = "default";
	at = strrchr(hosts, '@');
	if (at)
		*at = 0;
	take_user(self, at ? hosts : arena_copy(&self->arena, ""));
	return take_hosts(self, at ? at + 1 : hosts, err);
}

void store_close(struct store *self)
{
	http_free(self->curl);
	vec_release(&self->shards);
	arena_release(&self->arena);
	memset(self, 0, sizeof *self);
}

/* ---- statements ---- */

enum {
	/* ClickHouse's numbers of errors */
	CODE_NO_COLUMN = 16,
	CODE_NO_IDENTIFIER = 47,
	CODE_NO_TABLE = 60,
	CODE_NO_DATABASE = 81,
	CODE_NO_CLUSTER = 170,
	CODE_NO_USER = 192,
	CODE_WRONG_PASSWORD = 193,
	CODE_CONNECTIONS = 279,
	CODE_REQUIRED_PASSWORD = 194,
	CODE_DENIED = 497,
	CODE_AUTHENTICATION = 516,
};

/* "Code: 60, e.displayText() = DB::Exception: Table x doesn't exist., e.what() = …" → the sentence
 * in it. */
static void plain_message(char *text)
{
	char *start = strstr(text, "DB::Exception: "), *end;

	if (start)
		memmove(text, start + 15, strlen(start + 15) + 1);
	end = strstr(text, ", e.what()");
	if (end)
		*end = 0;
	text[strcspn(text, "\n")] = 0;
	for (end = text + strlen(text); end > text && (end[-1] == '.' || end[-1] == ' ');)
		*--end = 0;
	if (strlen(text) > 400)
		text[400] = 0;
}

static int refused(const struct store *self, const char *where, int status, struct strbuf *answer,
		   struct err *err)
{
	const char *text = strbuf_text(answer);
	int code = strncmp(text, "Code: ", 6) == 0 ? atoi(text + 6) : 0;

	switch (code) {
	case CODE_NO_USER:
	case CODE_WRONG_PASSWORD:
	case CODE_REQUIRED_PASSWORD:
	case CODE_AUTHENTICATION:
		return err_set(err, ERR_INPUT, "%s rejected user '%s': wrong name or password",
			       where, self->user);
	case CODE_NO_DATABASE:
	case CODE_NO_TABLE:
		return err_set(err, ERR_INPUT,
			       "the database '%s' at %s has no Heapwise schema; run 'heapwise "
			       "fleet init' to create it",
			       self->database, where);
	case CODE_CONNECTIONS:
		return err_set(err, ERR_SYSTEM, "a shard of %s does not answer", where);
	default: break;
	}
	/* Not all of its errors are numbered at the beginning: "std::exception. Code: 1001, ..." */
	if (!code && !strstr(text, "xception. Code: "))
		return err_set(err, ERR_SYSTEM,
			       "%s answered with HTTP status %d, but not as "
			       "ClickHouse does; check the address",
			       where, status);
	plain_message(answer->text);
	return err_set(err, ERR_SYSTEM, "%s reports: %s", where, answer->text);
}

struct sending {
	const char *database; /* NULL = none */
	const char *query;    /* beside the body; NULL = the body is all */
	const struct strbuf *body;
	bool packed;
	u64 answer_max;
	/* the answer waits for its end: an error in its midst would come with status 200 */
	bool is_question;
	const char *sql; /* of a question */
};

static int send(struct store *self, u32 shard, const struct sending *what, struct strbuf *answer,
		struct err *err)
{
	const struct store_shard *at = &self->shards.data[shard];
	struct strbuf url = {0}, user = {0}, key = {0}, where = {0};
	const char *headers[4] = {0};
	struct http_request request = {.headers = headers};
	int status;

	strbuf_addf(&where, "%s:%u", at->host, at->port);
	strbuf_addf(&url, "%s://%s:%u/?", self->scheme, at->host, at->port);
	if (what->database)
		strbuf_addf(&url, "database=%s&", what->database);
	if (what->query) {
		strbuf_add(&url, "query=");
		http_escape(&url, what->query);
	}
	if (what->is_question)
		strbuf_add(&url, "wait_end_of_query=1");
	strbuf_addf(&user, "X-ClickHouse-User: %s", self->user);
	strbuf_addf(&key, "X-ClickHouse-Key: %s", self->password);
	headers[0] = strbuf_text(&user);
	headers[1] = strbuf_text(&key);
	headers[2] = what->packed ? "Content-Encoding: gzip" : NULL;
	request.url = strbuf_text(&url);
	request.where = strbuf_text(&where);
	request.body = strbuf_text(what->body);
	request.bytes = what->body->count;
	request.answer_max = what->answer_max;
	if (url.failed || user.failed || key.failed || where.failed)
		status = err_memory(err);
	else
		status = http_post(self->curl, &request, answer, err);
	if (status >= 0)
		status =
			status == 200 ? 0 : refused(self, strbuf_text(&where), status, answer, err);
	strbuf_release(&url);
	strbuf_release(&user);
	strbuf_release(&key);
	strbuf_release(&where);
	return status;
}

static int ask(struct store *self, u32 shard, struct sending *what, struct reply *answer,
	       struct err *err)
{
	struct reply ignored = {0};
	struct strbuf body = {0};
	int status;

	if (!answer)
		answer = &ignored;
	answer->at = 0;
	strbuf_add(&body, what->sql);
	what->body = &body;
	what->is_question = true;
	status = body.failed ? err_memory(err) : send(self, shard, what, &answer->text, err);
	strbuf_release(&body);
	reply_release(&ignored);
	return status;
}

int store_ask(struct store *self, u32 shard, const char *sql, struct reply *answer, struct err *err)
{
	struct sending what = {.database = self->database, .sql = sql, .answer_max = HTTP_SHORT};

	return ask(self, shard, &what, answer, err);
}

int store_ask_outside(struct store *self, u32 shard, const char *sql, struct reply *answer,
		      struct err *err)
{
	struct sending what = {.sql = sql, .answer_max = HTTP_SHORT};

	return ask(self, shard, &what, answer, err);
}

int store_ask_all(struct store *self, const char *sql, struct reply *answer, struct err *err)
{
	struct sending what = {.database = self->database, .sql = sql, .answer_max = ANSWER_MAX};
	int status = ERR_SYSTEM;

	for (u32 i = 0; i < self->shards.count; i++) {
		status = ask(self, i, &what, answer, err);
		if (status == 0 || !self->distributed || err->code != ERR_SYSTEM)
			break;
	}
	return status;
}

int store_insert(struct store *self, u32 shard, const char *into, const struct strbuf *rows,
		 struct err *err)
{
	struct strbuf packed = {0}, query = {0}, answer = {0};
	struct sending what = {.database = self->database,
			       .body = &packed,
			       .packed = true,
			       .answer_max = HTTP_SHORT};
	int status;

	strbuf_addf(&query, "INSERT INTO %s FORMAT RowBinary", into);
	what.query = strbuf_text(&query);
	if (rows->failed || query.failed || !gzip_pack(rows->text, rows->count, &packed))
		status = err_memory_for(err, "rows");
	else
		status = send(self, shard, &what, &answer, err);
	if (status == 0) {
		self->raw_bytes += rows->count;
		self->sent_bytes += packed.count;
	}
	strbuf_release(&packed);
	strbuf_release(&query);
	strbuf_release(&answer);
	return status;
}

/* ---- answers ---- */

/* Takes \t, \n, \\ … of a field for what they stand for, in place. */
static void plain_field(char *field)
{
	char *out = field;

	for (; *field; field++) {
		if (*field != '\\' || !field[1]) {
			*out++ = *field;
			continue;
		}
		field++;
		switch (*field) {
		case 'n': *out++ = '\n'; break;
		case 't': *out++ = '\t'; break;
		case 'r': *out++ = '\r'; break;
		case 'b': *out++ = '\b'; break;
		case 'f': *out++ = '\f'; break;
		default: *out++ = *field;
		}
	}
	*out = 0;
}

bool reply_row(struct reply *self, char **fields, u32 count)
{
	char *row, *end;
	u32 found = 0;

	if (self->at >= self->text.count)
		return false;
	row = self->text.text + self->at;
	end = strchr(row, '\n');
	self->at = end ? (u64)(end - self->text.text) + 1 : self->text.count;
	if (end)
		*end = 0;
	for (char *field = row; field && found < count;) {
		char *tab = strchr(field, '\t');

		if (tab)
			*tab++ = 0;
		fields[found++] = field;
		field = tab;
	}
	for (u32 i = 0; i < found; i++)
		plain_field(fields[i]);
	return found == count;
}

void reply_release(struct reply *self)
{
	strbuf_release(&self->text);
	self->at = 0;
}

bool reply_numbers(const char *field, struct numbers *numbers)
{
	vec_clear(&numbers->rows);
	if (*field != '[')
		return false;
	for (field++; *field && *field != ']';) {
		char *end;
		double number = strtod(field, &end);

		if (end == field || !vec_push(&numbers->rows, number))
			return false;
		field = *end == ',' ? end + 1 : end;
	}
	return true;
}

bool reply_ids(const char *field, u64 *ids, u64 room, u64 *count)
{
	*count = 0;
	if (*field != '[')
		return false;
	for (field++; *field && *field != ']' && *count < room;) {
		char *end;

		ids[*count] = strtoull(field, &end, 10);
		if (end == field)
			return false;
		++*count;
		field = *end == ',' ? end + 1 : end;
	}
	return true;
}
