/* SPDX-License-Identifier: MIT
 * A database that is filled: rows in, one table after the other. The first failure stops everything
 * after it. */
#ifndef SHOW_FORMATS_SQLITE_DB_H
#define SHOW_FORMATS_SQLITE_DB_H

#include "host/base/err.h"
#include "format/types.h"

struct sqlite3;
struct sqlite3_stmt;

struct db {
	struct sqlite3 *handle;
	struct sqlite3_stmt *insert; /* of the table that is filled */
	struct err *err;
	int status; /* 0 or the code of the first failure, with err filled */
};

/* path is an empty file, or none. Everything up to db_close is one transaction. */
void db_open(struct db *self, const char *path, struct err *err);
void db_run(struct db *self, const char *sql);

/* Rows go to this table from now on; so many columns. */
void db_table(struct db *self, const char *table, u32 columns);

/* A row, as `columns` letters say: i u64; o u64 where UINT64_MAX is NULL; r double; t text, NULL or
 * "" is NULL. */
void db_row(struct db *self, const char *columns, ...);

/* The status. What failed is not in the file, which the caller removes. */
int db_close(struct db *self);

#define DB_NULL UINT64_MAX

#endif
