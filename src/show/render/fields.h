/* SPDX-License-Identifier: MIT
 * Typed values with their names, as members of an object of JSON:
 *
 *	put_object(json, NULL, FIELD("point", row->point), NAME("fn", row->function),
 *		   SOME("line", row->line));
 *
 * The same values as those of a result, for rows that are written as they are made. */
#ifndef SHOW_RENDER_FIELDS_H
#define SHOW_RENDER_FIELDS_H

#include "host/base/json.h"
#include "study/result/result.h"

struct named_value {
	const char *name;
	enum value_type type;
	struct value value; /* null if it is not known */
};

static inline struct named_value field_number(const char *name, u64 number)
{
	return (struct named_value){name, VALUE_COUNT, value_number(number)};
}
static inline struct named_value field_signed(const char *name, i64 number)
{
	return (struct named_value){name, VALUE_SIGNED, value_signed(number)};
}
/* null if it is not finite */
static inline struct named_value field_real(const char *name, double number)
{
	return (struct named_value){name, VALUE_RATIO, value_real(number)};
}
static inline struct named_value field_text(const char *name, const char *text)
{
	return (struct named_value){name, VALUE_TEXT, value_text(text)};
}
static inline struct named_value field_if(bool known, struct named_value field)
{
	field.value.known &= known;
	return field;
}

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
	return (struct named_value){name, VALUE_BOOL, value_number(value)};
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

void render_json_fields(struct json *json, const struct named_value *fields, u64 count);

/* Members of the object that is open. */
#define put_fields(json, ...)                                                                      \
	render_json_fields(json, (const struct named_value[]){__VA_ARGS__},                        \
			   sizeof((const struct named_value[]){__VA_ARGS__}) /                     \
				   sizeof(struct named_value))

/* An object of these members in one line. */
#define put_object(json, key, ...)                                                                 \
	do {                                                                                       \
		json_open_flat(json, key, '{');                                                    \
		put_fields(json, __VA_ARGS__);                                                     \
		json_close(json, '}');                                                             \
	} while (0)

#endif
