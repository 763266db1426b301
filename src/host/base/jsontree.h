/* SPDX-License-Identifier: MIT
 * Reads JSON that strangers sent (RFC 8259) into a tree. Depth and size are bounded; the tree lives
 * as long as the arena.
 *
 *	struct arena arena = {0};
 *	const struct json_node *root = json_read(text, length, &arena, &err);
 *	if (!root) ...
 *	name = json_text_of(json_member(root, "name"));   (NULL if it is missing or no string)
 */
#ifndef HOST_BASE_JSONTREE_H
#define HOST_BASE_JSONTREE_H

#include "host/base/arena.h"
#include "host/base/err.h"

enum { JSON_DEPTH_MAX = 64, JSON_NODES_MAX = 1 << 20 };

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_node {
	enum json_kind kind;
	const char *key;                /* of a member of an object, else NULL */
	const char *text;               /* of a string: UTF-8, without zero bytes */
	double number;                  /* of a number; 0 or 1 of a bool */
	u32 count;                      /* elements or members */
	struct json_node *first, *next; /* of the elements, in their order */
};

/* NULL and ERR_INPUT if it is not JSON; strings with \u0000 are refused, too. */
const struct json_node *json_read(const char *text, u64 length, struct arena *arena,
				  struct err *err);

/* A member of an object by its name; NULL if it is not there, or node is NULL or no object. */
const struct json_node *json_member(const struct json_node *node, const char *name);

/* NULL if node is NULL or no string. */
const char *json_text_of(const struct json_node *node);

/* `otherwise` if node is NULL or no number. */
double json_number_of(const struct json_node *node, double otherwise);

#endif
