/* SPDX-License-Identifier: MIT
 * What an analysis returns: typed values with names, units and meanings, caveats, and further
 * results inside. Text, JSON, CSV (and the web) render the same result, so they cannot disagree.
 *
 * A table has columns and rows. A record has one row: its fields, of which those named "peak.bytes"
 * and "peak.chunks" belong together.
 *
 *	static const struct result_column columns[] = {
 *		COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes"),
 *		COLUMN("share", "%", VALUE_SHARE, "share of all bytes", .look = LOOK_TENTHS),
 *	};
 *	struct result *table = result_table("points", "Points", columns);
 *	result_row(table, value_number(bytes), value_real(share));
 *	result_add_caveat(table, "3 events were lost");
 *	if (result_failed(table)) ...                (once, at the end: out of memory)
 */
#ifndef STUDY_RESULT_RESULT_H
#define STUDY_RESULT_RESULT_H

#include "host/base/arena.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"

enum value_type {
	VALUE_TEXT,
	VALUE_PATH, /* a text whose end matters most: what does not fit is cut at the left */
	VALUE_COUNT,
	VALUE_BYTES,
	VALUE_NS,
	VALUE_SHARE, /* 0 to 1 */
	VALUE_RATIO, /* any double, shown with two digits */
	VALUE_SIGNED,
	/* Differences, which text shows with their sign: "+1.5 MiB", "-12", "+3.1 ms". */
	VALUE_DELTA,
	VALUE_DELTA_BYTES,
	VALUE_DELTA_NS,
	VALUE_CHANGE,  /* a double: 0.25 is "+25.0 %" */
	VALUE_ID,      /* a number that names something: no digit groups */
	VALUE_ADDRESS, /* shown in hexadecimal */
	VALUE_BOOL,
	VALUE_STACK,
};

/* One frame of a call stack. */
struct result_frame {
	const char *function; /* "" = unknown */
	const char *file;     /* "" = unknown */
	const char *module;   /* path, "" = unknown */
	u64 offset;           /* in the module; the address itself without one */
	u32 line;
	u32 column;   /* in bytes from 1, 0 = unknown */
	bool inlined; /* into the next frame */
	bool minor;   /* of the standard library: seldom what the reader looks for */
	u32 folded;   /* inner minor frames that this one stands for, too */
};

struct result_stack { /* innermost first */
	struct result_frame *frames;
	u32 count;
	u32 hidden; /* outer frames that were left out */
	u64 number; /* equal for stacks of the same point, so that text shows each once; 0 = none */
};

struct value {
	bool known;
	const char *shown; /* grids: text shows this instead; programs see the value. NULL = none */
	union {
		u64 number;  /* COUNT, BYTES, NS, ID, ADDRESS, BOOL */
		i64 integer; /* SIGNED, DELTA, DELTA_BYTES, DELTA_NS */
		double real;
		const char *text;
		const struct result_stack *stack;
	};
};

static inline struct value value_number(u64 number)
{
	return (struct value){.known = true, .number = number};
}
static inline struct value value_signed(i64 integer)
{
	return (struct value){.known = true, .integer = integer};
}
static inline struct value value_real(double real)
{
	return (struct value){.known = true, .real = real};
}
static inline struct value value_stack(const struct result_stack *stack)
{
	return (struct value){.known = stack != NULL, .stack = stack};
}
/* The text must live as long as the result: a literal, or from result_copy. */
static inline struct value value_text(const char *text)
{
	return (struct value){.known = text != NULL, .text = text};
}
static inline struct value value_unknown(void) { return (struct value){.known = false}; }
static inline struct value value_if(bool known, struct value value)
{
	return known ? value : value_unknown();
}
/* A number of which 0 says that it is unknown. */
static inline struct value value_some(u64 number) { return value_if(number, value_number(number)); }
/* The same value, which a grid shows as this text; lives as long as the result. */
static inline struct value value_shown(struct value value, const char *shown)
{
	value.shown = shown;
	return value;
}

/* How a grid shows the numbers of a column. */
enum value_look {
	LOOK_UNITS,        /* as every table does: "1.5 MiB", "12,345" */
	LOOK_PLAIN,        /* all digits, no unit: "1572864" */
	LOOK_TENTHS,       /* a share as "50.2" */
	LOOK_PERCENT,      /* a share as "50", nothing below 1 % */
	LOOK_BRACKETS,     /* a share as "(50)", nothing below 1 % */
	LOOK_BRACKETS_ALL, /* a share as "(50)", also "(0)" */
	LOOK_PATH,         /* a stack in one line, outermost first: "... > main > make" */
};

struct result_column {
	const char *name;  /* for programs */
	const char *label; /* for people; NULL = not shown in text */
	enum value_type type;
	const char *meaning; /* one line */
	/* Records only. remark is shown after the value, with {name} replaced by that field and
	 * {name:noun} by the field and the noun in its number, (s) and (one|many) by the number of
	 * its own value (units_words); it is left out if a field is unknown. section begins a new
	 * block with that title ("" = none). */
	const char *remark;
	const char *section;
	bool hide_zero; /* numbers: not shown in text when 0 */
	/* a sentence: text shows it on lines of its own, between the row and its stack; in a
	 * record on as many lines as it takes */
	bool below;
	/* Grids only. joint stands between this column and the one before (NULL = two spaces); one
	 * without spaces, such as "/", only where there is a value. Neighbours with the same over
	 * share that heading, whose lines stand above their labels. */
	enum value_look look;
	const char *joint;
	const char *over;
};

/* A column; its meaning may be followed by further members: .look = LOOK_PLAIN. */
#define COLUMN(name_, label_, type_, ...)                                                          \
	{                                                                                          \
		.name = (name_), .label = (label_), .type = (type_), .meaning = __VA_ARGS__        \
	}

enum result_shape { RESULT_TABLE, RESULT_RECORD };

struct result {
	enum result_shape shape;
	const char *name;
	const char *title;
	const char *empty; /* text instead of a table without rows */
	bool hidden_in_text;
	/* Tables: text shows a grid, whose columns may share headings, be joined and have looks of
	 * their own, and where what is unknown is blank. A rule is drawn where the value of column
	 * rule_by - 1, a number, changes; 0 = nowhere. */
	bool grid;
	u32 rule_by;
	VEC(struct result_column) columns;
	VEC(struct value) cells; /* row by row */
	VEC(const char *) caveats;
	VEC(struct result *) parts; /* owned */
	struct arena arena;
	bool failed;
};

/* NULL if there is no memory. name and title must outlive the result. */
struct result *result_new(enum result_shape shape, const char *name, const char *title);
void result_free(struct result *self);

/* Columns are copied; the strings they point to are not. Before any row. */
void result_set_columns(struct result *self, const struct result_column *columns, u64 count);

/* A table with these columns, which are an array. NULL if there is no memory. */
#define result_table(name_, title_, columns_)                                                      \
	result_new_table(name_, title_, columns_, sizeof(columns_) / sizeof *(columns_))
struct result *result_new_table(const char *name, const char *title,
				const struct result_column *columns, u64 count);

/* A new row of unknown values; NULL after a failure. Valid until the next row. */
struct value *result_add_row(struct result *self);

/* A new row of these values, in the order of the columns. Columns without a value are unknown,
 * values without a column left out. */
#define result_row(result_, ...)                                                                   \
	result_put_row(result_, (const struct value[]){__VA_ARGS__},                               \
		       sizeof((const struct value[]){__VA_ARGS__}) / sizeof(struct value))
void result_put_row(struct result *self, const struct value *values, u64 count);

/* The same as a struct that has a value for each column, in their order, to be filled:
 *
 *	struct cells { struct value bytes, share; } *row = result_cells(table);
 *	if (row)
 *		row->bytes = value_number(bytes);
 */
#define result_cells(self) ((void *)result_add_row(self))

/* How many of the rows are listed if these are the most: top 0 = all are. */
static inline u64 result_top(u64 rows, u64 top) { return top && top < rows ? top : rows; }
/* The caveat that not all are. */
void result_add_more(struct result *self, u64 rows, u64 top);

/* Records: one more column and its value. */
void result_add_field(struct result *self, struct result_column column, struct value value);

/* Takes part over, also when it fails; part may be NULL after its own failure. */
void result_add_part(struct result *self, struct result *part);

void result_add_caveat(struct result *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A copy that lives as long as the result; NULL if there is no memory. */
const char *result_copy(struct result *self, const char *text);
const char *result_format(struct result *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same of what a buffer holds, which is released. */
const char *result_take(struct result *self, struct strbuf *text);
/* A copy as a value; unknown if text is NULL. */
struct value result_text(struct result *self, const char *text);

u64 result_rows(const struct result *self);
const struct value *result_cell(const struct result *self, u64 row, u64 column);

/* A record's field by name, or NULL. */
const struct value *result_field(const struct result *self, const char *name);

/* True if anything was left out for want of memory, here or in a part. */
bool result_failed(const struct result *self);

/* "bytes", "ns", "count", … */
const char *value_unit(enum value_type type);

#endif
