/* SPDX-License-Identifier: MIT
 * Typed values with their names, as members of an object of JSON, and objects and lists of them:
 *
 *	put_object(json, NULL, FIELD("point", row->point), NAME("fn", row->function),
 *		   OBJECT("bytes", FIELD("total", row->bytes), SOME("peak", row->peak)),
 *		   LIST("threads", row->thread_count, put_thread, row));
 *
 * The same values as those of a result, for rows that are written as they are made. */
#ifndef SHOW_RENDER_FIELDS_H
#define SHOW_RENDER_FIELDS_H

#include "host/base/json.h"
#include "study/result/result.h"

/* Writes item i of a list: one value without a key, or none. */
typedef void put_item(struct json *json, const void *list, u64 i);

enum field_shape { FIELD_VALUE, FIELD_OBJECT, FIELD_LIST, FIELD_WRITTEN, FIELD_ABSENT };

struct named_value {
	const char *name;
	enum value_type type;
	struct value value; /* null if it is not known, also if it is an object or a list */
	enum field_shape shape;
	const struct named_value *members; /* of an object */
	u64 count;                         /* of members or items */
	put_item *put;
	void (*write)(struct json *json, const char *name, const void *what);
	const void *list; /* or what is written */
};

static inline struct named_value field_number(const char *name, u64 number)
{
	return (struct named_value){.name = name,
				    .type = VALUE_COUNT,
				    .value = value_number(number)};
}
static inline struct named_value field_signed(const char *name, i64 number)
{
	return (struct named_value){.name = name,
				    .type = VALUE_SIGNED,
				    .value = value_signed(number)};
}
/* null if it is not finite */
static inline struct named_value field_real(const char *name, double number)
{
	return (struct named_value){.name = name, .type = VALUE_RATIO, .value = value_real(number)};
}
static inline struct named_value field_text(const char *name, const char *text)
{
	return (struct named_value){.name = name, .type = VALUE_TEXT, .value = value_text(text)};
}
static inline struct named_value field_if(bool known, struct named_value field)
{
	field.value.known &= known;
	return field;
}

/* Not there at all unless it is wanted. */
static inline struct named_value field_when(bool wanted, struct named_value field)
{
	field.shape = wanted ? field.shape : FIELD_ABSENT;
	return field;
}
#define ABSENT ((struct named_value){.shape = FIELD_ABSENT})
static inline struct named_value field_object(const char *name, const struct named_value *members,
					      u64 count)
{
	return (struct named_value){.name = name,
				    .value.known = true,
				    .shape = FIELD_OBJECT,
				    .members = members,
				    .count = count};
}
static inline struct named_value field_list(const char *name, u64 count, put_item *put,
					    const void *list)
{
	return (struct named_value){.name = name,
				    .value.known = true,
				    .shape = FIELD_LIST,
				    .count = count,
				    .put = put,
				    .list = list};
}

/* What a function writes, with the name as its key; null if there is nothing. */
static inline struct named_value field_written(const char *name,
					       void (*write)(struct json *json, const char *name,
							     const void *what),
					       const void *what)
{
	return (struct named_value){.name = name,
				    .value.known = what,
				    .shape = FIELD_WRITTEN,
				    .write = write,
				    .list = what};
}
void put_whole_result(struct json *json, const char *name, const void *result);
#define RESULT(name, result) field_written(name, put_whole_result, result)

static inline struct named_value field_some(const char *name, u64 number)
{
	return field_if(number != 0, field_number(name, number));
}
static inline struct named_value field_name(const char *name, const char *text)
{
	return field_if(text && *text, field_text(name, text));
}
static inline struct named_value field_flag(const char *name, bool value)
{
	return (struct named_value){.name = name, .type = VALUE_BOOL, .value = value_number(value)};
}

/* A number or a text, by its type. */
/* clang-format off */
#define FIELD(name, value)                                                                         \
	_Generic((value),                                                                          \
		double: field_real, float: field_real, i64: field_signed,                          \
		char *: field_text, const char *: field_text,                                      \
		default: field_number)(name, value)
/* clang-format on */
#define SOME(name, number) field_some(name, number) /* null instead of 0 */
#define NAME(name, text) field_name(name, text)     /* null instead of "" */
#define FLAG(name, value) field_flag(name, value)   /* true or false */

/* An address, which scripts get as a text: its bits do not fit a number of theirs. */
struct hex_text {
	char text[24];
};
struct hex_text hex_text(u64 address);

/* Members as an argument: where they are, and how many. */
#define MEMBERS(...)                                                                               \
	(const struct named_value[]){__VA_ARGS__},                                                 \
		sizeof((const struct named_value[]){__VA_ARGS__}) / sizeof(struct named_value)
#define OBJECT(name, ...) field_object(name, MEMBERS(__VA_ARGS__))
#define LIST(name, count, put, list) field_list(name, count, put, list)
/* Of numbers and of texts that are there already. */
#define NUMBERS(name, values, count) field_list(name, count, put_number_item, values)
#define TEXTS(name, texts, count) field_list(name, count, put_text_item, texts)

put_item put_number_item, put_text_item;

void render_json_fields(struct json *json, const struct named_value *fields, u64 count);

/* Members of the object that is open, and an object of them in one line. */
#define put_fields(json, ...) render_json_fields(json, MEMBERS(__VA_ARGS__))
#define put_object(json, key, ...) put_fields(json, OBJECT(key, __VA_ARGS__))

#endif
