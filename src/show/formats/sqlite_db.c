/* SPDX-License-Identifier: MIT
 * Inserts by SQLite.
 * Host. The file is new and removed after a failure, so nothing is synced and there is no
 * journal. */
#include "show/formats/sqlite_db.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void check(struct db *self, int code)
{
	if (self->status || code == SQLITE_OK || code == SQLITE_DONE)
		return;
	self->status = err_set(self->err, code == SQLITE_NOMEM ? ERR_MEMORY : ERR_SYSTEM,
			       "cannot write the database: %s",
			       self->handle ? sqlite3_errmsg(self->handle) : sqlite3_errstr(code));
}

void db_run(struct db *self, const char *sql)
{
	if (!self->status)
		check(self, sqlite3_exec(self->handle, sql, NULL, NULL, NULL));
}

void db_open(struct db *self, const char *path, struct err *err)
{
	memset(self, 0, sizeof(*self));
	self->err = err;
	check(self, sqlite3_open_v2(path, &self->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				    NULL));
	db_run(self, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		     "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; BEGIN");
}

void db_table(struct db *self, const char *table, u32 columns)
{
	char sql[512];
	int used = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", table);

	for (u32 i = 1; i < columns; i++)
		used += snprintf(sql + used, sizeof(sql) - (size_t)used, ",?");
	snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
	sqlite3_finalize(self->insert);
	self->insert = NULL;
	if (!self->status)
		check(self, sqlite3_prepare_v2(self->handle, sql, -1, &self->insert, NULL));
}

static int bind(struct db *self, int at, char letter, va_list *values)
{
	const char *text;
	u64 number;

	switch (letter) {
	case 'r': return sqlite3_bind_double(self->insert, at, va_arg(*values, double));
	case 't':
		text = va_arg(*values, const char *);
		return text && *text ? sqlite3_bind_text(self->insert, at, text, -1, SQLITE_STATIC)
				     : sqlite3_bind_null(self->insert, at);
	default:
		number = va_arg(*values, u64);
		return letter == 'o' && number == DB_NULL
			       ? sqlite3_bind_null(self->insert, at)
			       : sqlite3_bind_int64(self->insert, at, (sqlite3_int64)number);
	}
}

void db_row(struct db *self, const char *columns, ...)
{
	va_list values;

	if (self->status)
		return;
	va_start(values, columns);
	for (int i = 0; columns[i] && !self->status; i++)
		check(self, bind(self, i + 1, columns[i], &values));
	va_end(values);
	check(self, sqlite3_step(self->insert));
	check(self, sqlite3_reset(self->insert));
}

int db_close(struct db *self)
{
	sqlite3_finalize(self->insert);
	db_run(self, "COMMIT");
	if (sqlite3_close(self->handle) != SQLITE_OK && !self->status)
		self->status = err_set(self->err, ERR_SYSTEM, "cannot close the database file");
	return self->status;
}
