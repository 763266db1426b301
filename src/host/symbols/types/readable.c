/* SPDX-License-Identifier: MIT
 * Types as people write them.
 * Host. Nesting is bounded: what is deeper is copied as it is. */
#include <ctype.h>
#include <string.h>

#include "host/symbols/type_text.h"

enum { DEPTH_MAX = 48 };

static void add_type(struct strbuf *out, struct span type, u32 depth);

static void add_span(struct strbuf *out, struct span span)
{
	strbuf_add_bytes(out, span.text, span.bytes);
}

/* ---- words ---- */

static const struct {
	const char *dwarf, *usual;
} scalars[] = {
	/* longer ones first */
	{"long long unsigned int", "unsigned long long"},
	{"short unsigned int", "unsigned short"},
	{"long unsigned int", "unsigned long"},
	{"long long int", "long long"},
	{"short int", "short"},
	{"long int", "long"},
};

static bool is_inline_space(struct span rest, u32 *bytes)
{
	static const char *const names[] = {"__cxx11::", "__1::",     "__2::",      "__ndk1::",
					    "__8::",     "__debug::", "__cxx1998::"};

	for (u32 i = 0; i < sizeof names / sizeof *names; i++)
		if (span_starts(rest, names[i])) {
			*bytes = (u32)strlen(names[i]);
			return true;
		}
	return false;
}

static bool is_scalar(struct span rest, const char **usual, u32 *bytes)
{
	for (u32 i = 0; i < sizeof scalars / sizeof *scalars; i++) {
		u32 count = (u32)strlen(scalars[i].dwarf);

		if (span_starts(rest, scalars[i].dwarf) &&
		    (rest.bytes == count || !isalnum((unsigned char)rest.text[count]))) {
			*usual = scalars[i].usual;
			*bytes = count;
			return true;
		}
	}
	return false;
}

/* Text without arguments of templates: words, "::", "*", "const". */
static void add_plain(struct strbuf *out, struct span text)
{
	bool at_word = true;

	for (u32 i = 0, skip; i < text.bytes; i += skip) {
		struct span rest = {text.text + i, text.bytes - i};
		const char *usual;

		skip = 1;
		if (at_word && is_inline_space(rest, &skip))
			continue;
		if (at_word && is_scalar(rest, &usual, &skip))
			strbuf_add(out, usual);
		else
			strbuf_add_char(out, *rest.text);
		at_word = !isalnum((unsigned char)*rest.text) && *rest.text != '_';
	}
}

/* ---- arguments ---- */

static bool is_default(struct span argument)
{
	static const char *const names[] = {"std::allocator<",
					    "std::char_traits<",
					    "std::less<",
					    "std::hash<",
					    "std::equal_to<",
					    "std::default_delete<",
					    "std::__1::allocator<",
					    "std::__1::char_traits<",
					    "std::__1::less<",
					    "std::__1::hash<",
					    "std::__1::equal_to<",
					    "std::__1::default_delete<",
					    "alloc::alloc::Global",
					    "std::hash::random::RandomState",
					    "std::collections::hash::map::RandomState"};

	return span_starts_any(argument, names);
}

struct arguments {
	struct span data[NAME_ARGUMENTS];
	u32 count;
	bool complete;
};

static struct arguments split(struct span text)
{
	struct arguments self = {.complete = true};
	const char *p = text.text, *end = p + text.bytes;

	while (p < end) {
		const char *comma = name_find_outside(p, end, ",");

		if (!comma || self.count == NAME_ARGUMENTS) {
			self.complete = false;
			return self;
		}
		self.data[self.count++] = span_between(p, comma);
		p = comma + 1;
	}
	return self;
}

/* "5ul" is 5. */
static bool is_number(struct span *argument)
{
	u32 digits = 0;

	while (digits < argument->bytes && isdigit((unsigned char)argument->text[digits]))
		digits++;
	if (!digits)
		return false;
	for (u32 i = digits; i < argument->bytes; i++)
		if (!strchr("uUlL", argument->text[i]))
			return false;
	argument->bytes = digits;
	return true;
}

static void add_argument(struct strbuf *out, struct span argument, u32 depth)
{
	if (is_number(&argument))
		add_span(out, argument);
	else
		add_type(out, argument, depth);
}

static struct span without_const(struct span type)
{
	if (span_starts(type, "const "))
		type = span_between(type.text + 6, type.text + type.bytes);
	if (type.bytes > 6 && memcmp(type.text + type.bytes - 6, " const", 6) == 0)
		type.bytes -= 6;
	return type;
}

/* Arguments of "std::pair<…>", "std::__value_type<…>": false if the type is something else. */
static bool is_pair(struct span type, struct arguments *pair)
{
	static const char *const heads[] = {"std::pair<", "std::__1::pair<", "std::__value_type<",
					    "std::__1::__value_type<"};

	for (u32 i = 0; i < sizeof heads / sizeof *heads; i++) {
		u32 bytes = (u32)strlen(heads[i]);

		if (!span_starts(type, heads[i]) || type.text[type.bytes - 1] != '>')
			continue;
		*pair = split((struct span){type.text + bytes, type.bytes - bytes - 1});
		return pair->complete && pair->count == 2;
	}
	return false;
}

/* A pair whose first part cannot change is an entry of a map. */
static bool is_entry(struct span type, struct arguments *pair)
{
	return is_pair(type, pair) &&
	       (without_const(pair->data[0]).bytes != pair->data[0].bytes ||
		span_starts(type, "std::__1::__value") || span_starts(type, "std::__value"));
}

/* ---- templates ---- */

enum special { NODE, OBJECT, COUNT, BLOCK, ENTRY_NODE };

/* What the standard libraries allocate for their classes. */
static const struct {
	const char *name;
	enum special special;
	const char *of, *map; /* map: if the element is an entry */
} own[] = {
	{"std::_Rb_tree_node", NODE, "std::set", "std::map"},
	{"std::__tree_node", NODE, "std::set", "std::map"},
	{"std::_List_node", NODE, "std::list", NULL},
	{"std::__list_node", NODE, "std::list", NULL},
	{"std::_Fwd_list_node", NODE, "std::forward_list", NULL},
	{"std::__forward_list_node", NODE, "std::forward_list", NULL},
	{"std::__detail::_Hash_node", NODE, "std::unordered_set", "std::unordered_map"},
	{"std::__hash_node", NODE, "std::unordered_set", "std::unordered_map"},
	{"std::_Sp_counted_ptr_inplace", OBJECT, NULL, NULL},
	{"std::__shared_ptr_emplace", OBJECT, NULL, NULL},
	{"std::_Sp_counted_ptr", COUNT, "std::shared_ptr", NULL},
	{"std::_Sp_counted_deleter", COUNT, "std::shared_ptr", NULL},
	{"std::__shared_ptr_pointer", COUNT, "std::shared_ptr", NULL},
	{"alloc::rc::RcInner", BLOCK, "alloc::rc::Rc", NULL},
	{"alloc::rc::RcBox", BLOCK, "alloc::rc::Rc", NULL},
	{"alloc::sync::ArcInner", BLOCK, "alloc::sync::Arc", NULL},
	{"alloc::collections::linked_list::Node", NODE, "LinkedList", NULL},
	{"alloc::collections::btree::node::LeafNode", ENTRY_NODE, "BTreeSet", "BTreeMap"},
	{"alloc::collections::btree::node::InternalNode", ENTRY_NODE, "BTreeSet", "BTreeMap"},
};

static void add_node(struct strbuf *out, u32 which, struct span element, u32 depth)
{
	struct arguments pair;

	if (own[which].map && is_entry(element, &pair)) {
		strbuf_addf(out, "%s<", own[which].map);
		add_argument(out, without_const(pair.data[0]), depth);
		strbuf_add(out, ", ");
		element = pair.data[1];
	} else
		strbuf_addf(out, "%s<", own[which].of);
	add_argument(out, element, depth);
	strbuf_add(out, "> node");
}

/* A node with key and value apart; a set's have a value without bytes. */
static void add_entry_node(struct strbuf *out, u32 which, const struct arguments *arguments,
			   u32 depth)
{
	bool is_map = arguments->count > 1 && !span_is(arguments->data[1], "()") &&
		      !span_starts(arguments->data[1], "alloc::collections::btree::set_val::");

	strbuf_addf(out, "%s<", is_map ? own[which].map : own[which].of);
	add_argument(out, arguments->data[0], depth);
	if (is_map) {
		strbuf_add(out, ", ");
		add_argument(out, arguments->data[1], depth);
	}
	strbuf_add(out, strstr(own[which].name, "Internal") ? "> inner node" : "> node");
}

static void add_own(struct strbuf *out, u32 which, const struct arguments *arguments, u32 depth)
{
	struct span element = arguments->data[0];

	if (own[which].special == ENTRY_NODE) {
		add_entry_node(out, which, arguments, depth);
		return;
	}

	if (own[which].special == NODE) {
		add_node(out, which, element, depth);
		return;
	}
	if (own[which].special == OBJECT) {
		add_type(out, without_const(element), depth);
		return;
	}
	if (own[which].special == COUNT && element.bytes && element.text[element.bytes - 1] == '*')
		element.bytes--;
	strbuf_addf(out, "%s<", own[which].of);
	add_type(out, element, depth);
	strbuf_add(out, own[which].special == COUNT ? "> count" : "> block");
}

static bool is_string(const char *head, const struct arguments *arguments, struct strbuf *out)
{
	bool plain = arguments->count == 1 ||
		     (arguments->count <= 3 && is_default(arguments->data[arguments->count - 1]));

	if (strcmp(head, "std::basic_string") != 0 || !plain)
		return false;
	if (span_is(arguments->data[0], "char"))
		strbuf_add(out, "std::string");
	else if (span_is(arguments->data[0], "wchar_t"))
		strbuf_add(out, "std::wstring");
	else
		return false;
	return true;
}

static void add_all(struct strbuf *out, const char *head, const struct arguments *arguments,
		    u32 depth)
{
	u32 count = arguments->count;

	if (strncmp(head, "std::", 5) == 0 || strncmp(head, "alloc::", 7) == 0 ||
	    strncmp(head, "hashbrown::", 11) == 0)
		while (count > 1 && is_default(arguments->data[count - 1]))
			count--;
	strbuf_addf(out, "%s<", head);
	for (u32 i = 0; i < count; i++) {
		strbuf_add(out, i ? ", " : "");
		add_argument(out, arguments->data[i], depth);
	}
	strbuf_add_char(out, '>');
}

static void add_template(struct strbuf *out, struct span head, struct span inside, u32 depth)
{
	struct arguments arguments = split(inside);
	struct strbuf name = {0};
	u32 which = 0;

	add_plain(&name, head);
	for (; which < sizeof own / sizeof *own; which++)
		if (strcmp(own[which].name, strbuf_text(&name)) == 0)
			break;
	if (!arguments.complete || !arguments.count || depth >= DEPTH_MAX) {
		strbuf_addf(out, "%s<%.*s>", strbuf_text(&name), (int)inside.bytes, inside.text);
	} else if (which < sizeof own / sizeof *own) {
		add_own(out, which, &arguments, depth + 1);
	} else if (!is_string(strbuf_text(&name), &arguments, out)) {
		add_all(out, strbuf_text(&name), &arguments, depth + 1);
	}
	strbuf_release(&name);
}

/* Template after template: "A<int>::B<char>*". */
static void add_rest(struct strbuf *out, const char *p, const char *end, u32 depth)
{
	while (p < end) {
		const char *open = name_find_outside(p, end, "<(");
		const char *behind = open && open < end ? name_skip_brackets(open, end) : NULL;

		if (!behind) {
			add_plain(out, (struct span){p, (u32)(end - p)});
			return;
		}
		if (*open == '(')
			add_plain(out, (struct span){p, (u32)(behind - p)});
		else
			add_template(out, (struct span){p, (u32)(open - p)},
				     (struct span){open + 1, (u32)(behind - open - 2)}, depth);
		p = behind;
	}
}

static void add_type(struct strbuf *out, struct span type, u32 depth)
{
	struct span bare = without_const(type);

	if (bare.bytes != type.bytes)
		strbuf_add(out, "const ");
	add_rest(out, bare.text, bare.text + bare.bytes, depth);
}

void type_add_readable(struct strbuf *out, struct span type)
{
	add_type(out, without_const(span_between(type.text, type.text + type.bytes)), 0);
}
