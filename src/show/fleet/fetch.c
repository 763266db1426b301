/* SPDX-License-Identifier: MIT
 * A run's trace, back from the store.
 * Host. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "show/fleet/ask.h"

/* The run whose number begins with these digits. */
static int find_run(struct store *store, const char *digits, u64 *push, u64 *bytes, struct err *err)
{
	const struct fleet_filter all = {0};
	u32 length = (u32)strlen(digits);
	struct question ask = {.store = store};
	char *fields[2], *more[2], range[80];
	u64 first;

	for (const char *c = digits; *c; c++)
		if (!isxdigit((u8)*c))
			length = 0;
	if (length == 0 || length > 16)
		return err_set(err, ERR_USAGE,
			       "'%s' is not the id of a run; 'heapwise fleet runs' lists them",
			       digits);
	first = strtoull(digits, NULL, 16) << (64 - 4 * length);
	strbuf_add(&ask.sql, "SELECT push, trace_bytes");
	snprintf(range, sizeof range, "run >= %llu AND run <= %llu AND ", (unsigned long long)first,
		 (unsigned long long)(first | (length == 16 ? 0 : UINT64_MAX >> (4 * length))));
	ask_from(&ask, TABLE_RUNS, range, &all);
	strbuf_add(&ask.sql, " LIMIT 2");
	if (question_row(&ask, fields, 2, err)) {
		*push = reply_number(fields[0]);
		*bytes = reply_number(fields[1]);
		if (question_row(&ask, more, 2, err))
			ask.status = err_set(err, ERR_USAGE,
					     "more than one run begins with %s; give more digits",
					     digits);
	} else if (ask.status == 0) {
		ask.status = err_set(err, ERR_INPUT, "the store has no run %s", digits);
	}
	return question_end(&ask);
}

static u8 digit(char c) { return (u8)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10); }

static bool is_hex(const char *text)
{
	u64 length = strlen(text);

	for (u64 i = 0; i < length; i++)
		if (!isxdigit((u8)text[i]))
			return false;
	return length && length % 2 == 0;
}

static int write_part(const char *hex, int fd, u64 *bytes, struct err *err)
{
	u64 count = strlen(hex) / 2;
	u8 *part;
	int failure;

	if (!is_hex(hex))
		return err_set(err, ERR_INPUT,
			       "the trace in the store is damaged: a part is not hexadecimal");
	part = malloc(count + 1);
	if (!part)
		return err_memory(err);
	for (u64 i = 0; i < count; i++)
		part[i] = (u8)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	failure = io_write_all(fd, part, count, NULL);
	free(part);
	*bytes += count;
	return failure ? err_set(err, ERR_SYSTEM, "cannot write: %s", strerror(failure)) : 0;
}

int fleet_fetch(struct store *store, const char *run, int fd, struct err *err)
{
	u64 push = 0, bytes = 0, written = 0;
	int status = find_run(store, run, &push, &bytes, err);

	if (status == 0 && !bytes)
		status = err_set(
			err, ERR_INPUT,
			"run %s was pushed without --trace, so the store has only its totals "
			"('heapwise fleet top', 'scores' and 'leaks'); the trace cannot be added "
			"later",
			run);
	for (u32 part = 0; status == 0 && written < bytes; part++) {
		struct question ask = {.store = store};
		char *field;

		strbuf_add(&ask.sql, "SELECT hex(data)");
		ask_table(&ask, TABLE_TRACES);
		strbuf_addf(&ask.sql, " WHERE push = %llu AND part = %u", (unsigned long long)push,
			    part);
		if (question_row(&ask, &field, 1, err))
			ask.status = write_part(field, fd, &written, err);
		else if (ask.status == 0)
			ask.status =
				err_set(err, ERR_INPUT,
					"part %u of the trace is missing from the store", part);
		status = question_end(&ask);
	}
	if (status == 0 && written != bytes)
		status = err_set(
			err, ERR_INPUT,
			"the trace in the store is damaged: it has %llu bytes instead of %llu",
			(unsigned long long)written, (unsigned long long)bytes);
	return status;
}
