/* SPDX-License-Identifier: MIT
 * A run's trace, back from the store.
 * Host. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "show/fleet/ask.h"

/* The run whose number begins with these digits. */
static int find_run(struct store *store, const char *digits, u64 *push, u64 *bytes, struct err *err)
{
	const struct fleet_filter all = {0};
	u32 length = (u32)strlen(digits);
	struct reply answer = {0};
	struct strbuf sql = {0};
	char *fields[2], *more[2];
	u64 first;
	int status;

	for (const char *c = digits; *c; c++)
		if (!isxdigit((u8)*c))
			length = 0;
	if (length == 0 || length > 16)
		return err_set(err, ERR_USAGE,
			       "'%s' is not the id of a run; 'heapwise fleet runs' lists them",
			       digits);
	first = strtoull(digits, NULL, 16) << (64 - 4 * length);
	strbuf_add(&sql, "SELECT push, trace_bytes FROM ");
	ask_table(&sql, store, TABLE_RUNS);
	strbuf_addf(&sql, " WHERE run >= %llu AND run <= %llu AND ", (unsigned long long)first,
		    (unsigned long long)(first | (length == 16 ? 0 : UINT64_MAX >> (4 * length))));
	ask_runs(&sql, store, &all);
	strbuf_add(&sql, " LIMIT 2");
	status = ask_all(store, &sql, &answer, err);
	if (status == 0 && !reply_row(&answer, fields, 2))
		status = err_set(err, ERR_INPUT, "the store has no run %s", digits);
	else if (status == 0 && reply_row(&answer, more, 2))
		status = err_set(err, ERR_USAGE, "more than one run begins with %s; give more digits", digits);
	if (status == 0) {
		*push = strtoull(fields[0], NULL, 10);
		*bytes = strtoull(fields[1], NULL, 10);
	}
	reply_release(&answer);
	strbuf_release(&sql);
	return status;
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
		return err_set(err, ERR_INPUT, "the trace in the store is damaged: a part is not hexadecimal");
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
	struct reply answer = {0};
	struct strbuf sql = {0};
	char *field;
	int status = find_run(store, run, &push, &bytes, err);

	if (status == 0 && !bytes)
		status = err_set(
			err, ERR_INPUT,
			"run %s was pushed without --trace, so the store has only its totals ('heapwise fleet top', "
			"'scores' and 'leaks'); the trace cannot be added later",
			run);
	for (u32 part = 0; status == 0 && written < bytes; part++) {
		strbuf_add(&sql, "SELECT hex(data) FROM ");
		ask_table(&sql, store, TABLE_TRACES);
		strbuf_addf(&sql, " WHERE push = %llu AND part = %u", (unsigned long long)push,
			    part);
		status = ask_all(store, &sql, &answer, err);
		if (status == 0 && !reply_row(&answer, &field, 1))
			status = err_set(err, ERR_INPUT,
					 "part %u of the trace is missing from the store", part);
		if (status == 0)
			status = write_part(field, fd, &written, err);
	}
	if (status == 0 && written != bytes)
		status = err_set(err, ERR_INPUT,
				 "the trace in the store is damaged: it has %llu bytes instead of %llu",
				 (unsigned long long)written, (unsigned long long)bytes);
	reply_release(&answer);
	strbuf_release(&sql);
	return status;
}
