/* SPDX-License-Identifier: MIT
 * A store of many runs: the HTTP interface of one or more ClickHouse servers, which are shards of
 * one database.
 *
 *	struct store store = {0};
 *	if (store_open(&store, "clickhouse://user@host:8123/heapwise", &err) < 0) ...
 *	struct reply answer = {0};
 *	store_ask(&store, 0, "SELECT run, host FROM runs", &answer, &err);
 *	while (reply_row(&answer, fields, 2)) ...
 *	reply_release(&answer);
 *	store_close(&store);
 *
 * Not for use by two threads at once. */
#ifndef SHOW_FLEET_STORE_H
#define SHOW_FLEET_STORE_H

#include <stdlib.h>

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"

struct store_shard {
	const char *host;
	u32 port;
};

struct store { /* all zero = closed */
	VEC(struct store_shard) shards;
	const char *user, *password, *database;
	const char *scheme; /* "http" or "https" */
	bool distributed;   /* tables "…_all" see all shards; see schema_check */
	void *curl;
	u64 raw_bytes, sent_bytes; /* of inserted rows, before and after compression */
	struct arena arena;
};

/* clickhouse://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/DATABASE; clickhouses:// is HTTPS. A
 * password that is not there is taken from the environment, HEAPWISE_PASSWORD. Nothing is sent. */
int store_open(struct store *self, const char *address, struct err *err);
void store_close(struct store *self);

/* Whether an address of --to is one of a store. */
bool store_is_address(const char *address);

/* Overwrites the password of an address with 'x', so that lists of processes do not show it. */
void address_hide_password(char *address);

/* Rows as tab-separated texts. */
struct reply { /* all zero = empty */
	struct strbuf text;
	u64 at;
};

/* A statement; what it answers goes to *answer, which may be NULL, and is at most 1 MiB. */
int store_ask(struct store *self, u32 shard, const char *sql, struct reply *answer,
	      struct err *err);

/* The same of the database that need not be there yet. */
int store_ask_outside(struct store *self, u32 shard, const char *sql, struct reply *answer,
		      struct err *err);

/* The answer of all shards together, from the first server that replies; at most 256 MiB. */
int store_ask_all(struct store *self, const char *sql, struct reply *answer, struct err *err);

/* Inserts rows that are encoded as RowBinary; into is "table (column, column …)". All or nothing
 * per month of rows. */
int store_insert(struct store *self, u32 shard, const char *into, const struct strbuf *rows,
		 struct err *err);

/* The next row: pointers to its fields, which live as long as the answer. False at the end, and for
 * a row that has another number of fields. */
bool reply_row(struct reply *self, char **fields, u32 count);
void reply_release(struct reply *self);

/* Numbers of a field "[1,2,3]"; false if it is none or there is no memory. */
struct numbers {
	VEC(double) rows;
};
static inline u64 reply_number(const char *field) { return strtoull(field, NULL, 10); }
bool reply_numbers(const char *field, struct numbers *numbers);
bool reply_ids(const char *field, u64 *ids, u64 room, u64 *count);

#endif
