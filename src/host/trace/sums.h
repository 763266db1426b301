/* SPDX-License-Identifier: MIT
 * Sums at the end of a trace, so that readers need not add up its events: tables of numbers, each
 * described by where its fields are in a row. What they mean is the business of who writes them.
 *
 *	static const struct sums_field fields[] = {SUMS_FIELD(struct point, bytes), …};
 *	static const struct sums_table table = SUMS_TABLE(7, struct point, fields);
 *
 *	struct sums_out out = {.image = 0};
 *	sums_out_add(&out, &table, rows, count);
 *	status = trace_write_sums(path, &out, err);
 *
 * Fields may be added at the end of a table. A reader takes those that it knows, and does without a
 * table that lacks one. */
#ifndef HOST_TRACE_SUMS_H
#define HOST_TRACE_SUMS_H

#include <stddef.h>

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"

struct sums_field {
	u32 offset;
	u16 bytes; /* 1, 2, 4 or 8 */
	bool truth;
};

struct sums_table {
	u32 id; /* not 0 */
	u32 row_bytes;
	u32 field_count;
	const struct sums_field *fields;
};

#define SUMS_FIELD(type_, member_)                                                                 \
	{                                                                                          \
		offsetof(type_, member_), sizeof(((type_ *)0)->member_),                           \
			_Generic(((type_ *)0)->member_, bool                                       \
				 : true, default                                                   \
				 : false)                                                          \
	}
#define SUMS_TABLE(id_, type_, fields_)                                                            \
	{                                                                                          \
		id_, sizeof(type_), sizeof(fields_) / sizeof *(fields_), fields_                   \
	}

/* ---- writing ---- */

struct sums_part { /* a payload, and how many rows it has */
	struct strbuf payload;
	u32 rows;
};

struct sums_count {
	u64 table, rows;
};

struct sums_out { /* all zero = empty; want of memory is remembered */
	u32 image;
	VEC(struct sums_part) parts;
	VEC(struct sums_count) counts;
	bool failed;
};

/* Adds rows to the table. */
void sums_out_add(struct sums_out *self, const struct sums_table *table, const void *rows,
		  u64 count);
/* After the last row: without this nothing of it will be read. */
void sums_out_end(struct sums_out *self);
void sums_out_release(struct sums_out *self);

/* Ends the sums and appends them to a complete trace. If it fails, the file is as it was. */
int trace_write_sums(const char *path, struct sums_out *sums, struct err *err);

/* ---- reading ---- */

struct sums_in;

/* The newest sums of an image; NULL if there are none that are whole, or err says why. */
struct sums_in *trace_read_sums(const char *path, u32 image, struct err *err);
void sums_in_free(struct sums_in *self);

/* Rows of a table; 0 if it is not there. */
u64 sums_in_count(const struct sums_in *self, const struct sums_table *table);
/* Fills as many rows, which are zero; false if they cannot be what they claim. */
bool sums_in_get(const struct sums_in *self, const struct sums_table *table, void *rows);

#endif
