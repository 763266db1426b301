/* SPDX-License-Identifier: MIT
 * The search in a stack for who allocates for others.
 * Host. */
#include "host/symbols/types/frame.h"

#include <string.h>

#include "host/symbols/types/frame_rules.h"

enum { REFINE_FRAMES = 6, REFINE_NODE_FRAMES = 24 };

/* ---- frames without a type of their own ---- */

static bool is_constructor(const struct name_parts *parts)
{
	struct span last, class;

	if (parts->count < 2)
		return false;
	last = parts->parts[parts->count - 1].name;
	class = parts->parts[parts->count - 2].name;
	/* Rust's alloc::alloc::alloc constructs nothing */
	if (span_is(parts->parts[0].name, "alloc"))
		return false;
	return last.bytes == class.bytes && memcmp(last.text, class.text, last.bytes) == 0;
}

/* ---- rules ---- */

/* The rule for the longest beginning of the path, and the number of the part that has the
 * arguments. */
static const struct rule *find_rule(struct frame_search *self, const struct name_parts *parts,
				    u32 *at)
{
	struct span last = parts->parts[parts->count - 1].name;

	for (u32 count = parts->count; count > 0; count--) {
		const char *path;

		name_path(parts, count, &self->path);
		path = strbuf_text(&self->path);
		for (u32 i = 0; i < frame_rule_count; i++) {
			const struct rule *rule = &frame_rules[i];

			if (*rule->path != *path || strcmp(rule->path, path) != 0 ||
			    (rule->function && !span_starts(last, rule->function)))
				continue;
			*at = count - 1;
			return rule;
		}
	}
	return NULL;
}

/* Somebody's own allocator: "Arena::Allocator<Foo>::allocate". */
static bool is_allocator(const struct name_parts *parts)
{
	const struct name_part *class;

	if (parts->count < 2)
		return false;
	class = &parts->parts[parts->count - 2];
	return span_starts(parts->parts[parts->count - 1].name, "allocate") && class->is_template &&
	       (memmem(class->name.text, class->name.bytes, "lloc", 4) ||
		memmem(class->name.text, class->name.bytes, "LLOC", 4));
}

/* Rust's old names have T for whatever it is. */
static bool is_placeholder(struct span type)
{
	return !type.bytes || span_is(type, "_") ||
	       (type.bytes == 1 && type.text[0] >= 'A' && type.text[0] <= 'Z');
}

static struct span argument(const struct name_part *part, u32 which)
{
	return which < part->argument_count ? part->arguments[which] : (struct span){"", 0};
}

/* The arguments of a type's last template. */
static bool arguments_of(struct span type, struct name_part *part)
{
	struct name_parts parts;

	if (!name_parse_span(type, &parts) || !parts.parts[parts.count - 1].is_template)
		return false;
	*part = parts.parts[parts.count - 1];
	return part->argument_count;
}

static bool add_one(struct strbuf *out, struct span type)
{
	if (is_placeholder(type))
		return false;
	if (type.bytes > 2 && memcmp(type.text + type.bytes - 2, "[]", 2) == 0)
		type = span_between(type.text, type.text + type.bytes - 2);
	type_add_readable(out, type);
	return true;
}

static bool add_entry(struct strbuf *out, const struct name_part *part, u32 which)
{
	if (!add_one(out, argument(part, which)))
		return false;
	strbuf_add(out, ", ");
	return add_one(out, argument(part, which + 1));
}

/* "[T]" and "str", but not "[T; 5]". */
static struct span slice_element(struct span type)
{
	const char *end = type.text + type.bytes;

	if (span_is(type, "str"))
		return span_of("u8");
	if (type.bytes < 3 || type.text[0] != '[' || name_skip_brackets(type.text, end) != end ||
	    name_find_outside(type.text + 1, end - 1, ";") != end - 1)
		return type;
	return span_between(type.text + 1, end - 1);
}

/* p = behind the '<' of "<T as Trait>": the " as ", or end if there is none; NULL if that is no
 * such name. */
static const char *find_as(const char *p, const char *end)
{
	while (p && (p = name_find_outside(p, end, " ")) && p < end && strncmp(p, " as ", 4) != 0)
		p++;
	return p;
}

static bool span_ends(struct span span, const char *text)
{
	size_t bytes = strlen(text);

	return span.bytes >= bytes && memcmp(span.text + span.bytes - bytes, text, bytes) == 0;
}

/* Rust's functions of what they copy: "<str as alloc::borrow::ToOwned>::to_owned",
 * "<[u8]>::to_vec", "<u32 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "<u8 as
 * <[_]>::to_vec_in::ConvertVec>::to_vec". */
static bool add_copied(struct strbuf *out, const char *function, struct span last)
{
	const char *end =
		*function == '<' ? name_skip_brackets(function, function + strlen(function)) : NULL;
	const char *as = end ? find_as(function + 1, end - 1) : NULL;
	struct span type, trait, element;
	bool is_library, is_element;

	if (!as)
		return false;
	type = span_between(function + 1, as);
	trait = as < end - 1 ? span_between(as + 4, end - 1) : (struct span){"", 0};
	element = slice_element(type);
	is_library = span_starts(trait, "alloc::") || span_starts(trait, "<[_]>::");
	is_element = span_ends(trait, "::SpecFromElem") || span_ends(trait, "::ConvertVec");
	if (is_library && is_element)
		return add_one(out, type);
	if (element.text == type.text || (trait.bytes && !is_library))
		return false;
	return (span_is(type, "str") || span_starts(last, "to_owned") ||
		span_starts(last, "to_vec")) &&
	       add_one(out, element);
}

static bool add_table(struct strbuf *out, struct span entry)
{
	const char *end = entry.text + entry.bytes, *comma;
	struct span key, value;

	if (is_placeholder(entry))
		return false;
	comma = entry.text[0] == '(' ? name_find_outside(entry.text + 1, end - 1, ",") : NULL;
	if (!comma || comma == end - 1) {
		strbuf_add(out, "hashbrown table<");
		type_add_readable(out, entry);
		strbuf_add_char(out, '>');
		return true;
	}
	key = span_between(entry.text + 1, comma);
	value = span_between(comma + 1, end - 1);
	strbuf_add(out, span_is(value, "()") ? "HashSet<" : "HashMap<");
	type_add_readable(out, key);
	if (!span_is(value, "()")) {
		strbuf_add(out, ", ");
		type_add_readable(out, value);
	}
	strbuf_add(out, "> table");
	return true;
}

static bool add_shape(struct strbuf *out, const struct rule *rule, const struct name_part *part)
{
	struct span type = argument(part, rule->argument);
	struct name_part inner;

	switch ((enum shape)rule->shape) {
	case ELEMENT: break;
	case POINTEE:
		if (type.bytes && type.text[type.bytes - 1] == '*')
			type.bytes--;
		break;
	case LAST:
		type = argument(part, part->argument_count ? part->argument_count - 1 : 0);
		break;
	case ALLOCATED:
		if (!arguments_of(type, &inner))
			return false;
		type = argument(&inner, 0);
		break;
	case OWNED: type = slice_element(type); break;
	case TUPLE: return add_table(out, type);
	case ENTRY: return add_entry(out, part, rule->argument);
	case POLICY:
		if (!arguments_of(type, &inner))
			return false;
		if (inner.argument_count > 1)
			return add_entry(out, &inner, 0);
		type = argument(&inner, 0);
		break;
	}
	return add_one(out, type);
}

/* Puts the type into its format and makes that readable, too. */
static void set_type(struct frame_search *self, const char *format, const char *type)
{
	const char *place = format ? strstr(format, "%s") : NULL;
	struct strbuf text = {0};

	strbuf_clear(&self->type);
	if (place)
		strbuf_addf(&text, "%.*s%s%s", (int)(place - format), format, type, place + 2);
	else
		strbuf_add(&text, format ? format : type);
	if (place &&
	    (strncmp(format, "std::_", 6) == 0 || strncmp(format, "alloc::collections::", 20) == 0))
		type_add_readable(&self->type, span_of(strbuf_text(&text)));
	else
		strbuf_add(&self->type, strbuf_text(&text));
	strbuf_release(&text);
}

static bool apply(struct frame_search *self, const struct rule *rule, const struct name_part *part)
{
	struct strbuf type = {0};
	bool fixed = rule->format && !strstr(rule->format, "%s");
	bool known = fixed || add_shape(&type, rule, part);

	if (known)
		set_type(self, rule->format, strbuf_text(&type));
	strbuf_release(&type);
	return known;
}

/* ---- keys that may be there several times ---- */

enum keys { KEYS_UNTOLD, KEYS_UNIQUE, KEYS_EQUAL };

static bool span_has(struct span span, const char *text)
{
	return memmem(span.text, span.bytes, text, strlen(text)) != NULL;
}

/* A hash table says it by its traits: _Hashtable_traits<cached, constant iterators, unique
 * keys>. */
static enum keys keys_of_traits(const struct name_part *part)
{
	struct name_part traits;

	for (u32 i = 0; i < part->argument_count; i++) {
		if (!span_starts(part->arguments[i], "std::__detail::_Hashtable_traits<") ||
		    !arguments_of(part->arguments[i], &traits))
			continue;
		return span_is(argument(&traits, 2), "true") ? KEYS_UNIQUE : KEYS_EQUAL;
	}
	return KEYS_UNTOLD;
}

/* What a frame of the C++ library says of the container: nodes of map and multimap have one
 * type. */
static enum keys keys_of(const struct name_parts *parts)
{
	static const char *const unique[] = {"map", "set", "unordered_map", "unordered_set"},
				 *const equal[] = {"multimap", "multiset", "unordered_multimap",
						   "unordered_multiset"};
	const struct name_part *part = parts->count > 1 ? &parts->parts[1] : &parts->parts[0];
	struct span last = parts->parts[parts->count - 1].name;

	for (u32 i = 0; i < 4; i++) {
		if (span_is(part->name, unique[i]))
			return KEYS_UNIQUE;
		if (span_is(part->name, equal[i]))
			return KEYS_EQUAL;
	}
	if (span_is(part->name, "_Rb_tree") || span_is(part->name, "__tree") ||
	    span_is(part->name, "__hash_table")) {
		if (span_has(last, "_unique"))
			return KEYS_UNIQUE;
		return span_has(last, "_equal") || span_has(last, "_multi") ? KEYS_EQUAL
									    : KEYS_UNTOLD;
	}
	for (u32 i = 1; i < parts->count; i++)
		if (keys_of_traits(&parts->parts[i]))
			return keys_of_traits(&parts->parts[i]);
	return KEYS_UNTOLD;
}

static const char *const tables[] = {"std::unordered_map<", "std::unordered_set<", "std::map<",
				     "std::set<"};

static bool is_of_table(const struct strbuf *type)
{
	return text_starts_any(strbuf_text(type), tables) &&
	       (strcmp(type->text + type->count - 5, " node") == 0 ||
		(type->count > 8 && strcmp(type->text + type->count - 8, " buckets") == 0));
}

/* std::map<int, Foo> node → std::multimap<int, Foo> node. */
static void rename_multi(struct strbuf *type)
{
	static const char *const heads[] = {"std::unordered_", "std::"};
	struct strbuf text = {0};

	for (u32 i = 0; i < 2; i++) {
		size_t bytes = strlen(heads[i]);

		if (strncmp(type->text, heads[i], bytes) != 0)
			continue;
		strbuf_addf(&text, "%smulti%s", heads[i], type->text + bytes);
		break;
	}
	strbuf_clear(type);
	strbuf_add(type, strbuf_text(&text));
	strbuf_release(&text);
}

/* Looks at the frame for which container a node is of. Until one tells, it is only likely to be of
 * the usual one. */
static bool refine_keys(struct frame_search *self, const struct name_parts *parts)
{
	enum keys keys = keys_of(parts);

	if (keys == KEYS_UNTOLD)
		return --self->more > 0;
	if (keys == KEYS_EQUAL)
		rename_multi(&self->type);
	self->confidence = self->sure;
	return false;
}

/* ---- what the block is for ---- */

/* Tables of pointers: the frames around tell whose. False when nothing more is to be found. */
static bool refine(struct frame_search *self, const struct name_parts *parts)
{
	static const struct rule deque = {"", 0, ELEMENT, TYPE_EXACT, NULL, "std::deque<%s> map"};
	static const struct rule set = {"",         1,    ELEMENT,
					TYPE_EXACT, NULL, "std::unordered_set<%s> buckets"};
	const struct name_part *part = parts->count > 1 ? &parts->parts[1] : NULL;
	struct span last = parts->parts[parts->count - 1].name;
	struct name_part pair;

	if (!part || !span_is(parts->parts[0].name, "std"))
		return false;
	if (is_of_table(&self->type))
		return refine_keys(self, parts);
	if (span_is(part->name, "_Deque_base") && span_starts(last, "_M_allocate_map"))
		apply(self, &deque, part);
	else if (span_is(part->name, "_Hashtable") &&
		 strcmp(strbuf_text(&self->type), "std::__detail::_Hash_node_base*") == 0) {
		static const struct rule map = {"",         0,    ENTRY,
						TYPE_EXACT, NULL, "std::unordered_map<%s> buckets"};

		if (span_starts(argument(part, 1), "std::pair<") &&
		    arguments_of(argument(part, 1), &pair))
			apply(self, &map, &pair);
		else
			apply(self, &set, part);
		return refine_keys(self, parts);
	}
	return --self->more > 0;
}

/* Rust's compiler makes one function of those whose code is the same: RawVec<A>::grow_one may be
 * called for a Vec<B>, whose own functions, being small, are in the caller. */
static bool refine_vector(struct frame_search *self, const struct name_parts *parts)
{
	const struct rule *rule;
	u32 at;

	name_path(parts, parts->count, &self->path);
	if (strncmp(strbuf_text(&self->path), "alloc::raw_vec::", 16) == 0)
		return --self->more > 0;
	rule = find_rule(self, parts, &at);
	if (rule && (strcmp(rule->path, "alloc::vec::Vec") == 0 || strstr(rule->path, "VecDeque")))
		apply(self, rule, &parts->parts[at]);
	return false;
}

static bool is_pointer(const struct strbuf *type)
{
	return type->count && type->text[type->count - 1] == '*';
}

static bool found(struct frame_search *self, enum type_confidence confidence)
{
	self->found = true;
	self->confidence = self->sure = confidence;
	self->more = is_pointer(&self->type) ? REFINE_FRAMES : 0;
	return self->more > 0;
}

/* The frame that tells the type may tell the container, too. */
static bool found_by(struct frame_search *self, const struct name_parts *parts,
		     enum type_confidence confidence)
{
	bool more = found(self, confidence);

	if (!is_of_table(&self->type))
		return more;
	self->more = REFINE_NODE_FRAMES;
	if (confidence == TYPE_EXACT)
		self->confidence = TYPE_LIKELY;
	return refine_keys(self, parts);
}

/* A class with operators new of its own; what derives from it may use them, too. */
static bool own_operator(struct frame_search *self, const struct name_parts *parts,
			 const char *function)
{
	struct span class = parts->parts[parts->count - 2].name;
	const char *end = class.text + class.bytes;

	if (parts->parts[parts->count - 2].is_template)
		end = name_skip_brackets(end, function + strlen(function));
	if (!end)
		return true;
	strbuf_clear(&self->type);
	type_add_readable(&self->type, span_between(parts->parts[0].name.text, end));
	return found(self, TYPE_GUESS);
}

/* Whether all that it can allocate is its characters, whatever was inlined: code of the library
 * that runs nobody else's. A function with template arguments may run somebody's iterators. */
static bool is_plain_string(const struct name_parts *parts, u32 at)
{
	const struct name_part *class = &parts->parts[at];

	return span_is(class->name, "basic_string") && at + 2 == parts->count &&
	       !parts->parts[at + 1].is_template &&
	       (class->argument_count < 3 || span_starts(class->arguments[2], "std::allocator<"));
}

static bool c_function(struct frame_search *self, const struct symbol_frame *frame)
{
	const char *type =
		self->c_library && !self->found ? c_function_type(frame->function) : NULL;

	if (!type)
		return false;
	strbuf_clear(&self->type);
	strbuf_add(&self->type, type);
	self->single = strcmp(type, "FILE") == 0 || strcmp(type, "DIR") == 0;
	found(self, TYPE_LIKELY);
	return true;
}

/* Functions of the C++ library that throw say what: std::__throw_out_of_range_fmt, operator new. */
static bool thrown(struct frame_search *self, const struct name_parts *parts)
{
	struct span last = parts->parts[parts->count - 1].name;

	if (span_starts(last, "operator new")) {
		last = span_of("bad_alloc");
	} else if (parts->count == 2 && span_is(parts->parts[0].name, "std") &&
		   span_starts(last, "__throw_")) {
		last = span_between(last.text + 8, last.text + last.bytes);
		if (last.bytes > 4 && memcmp(last.text + last.bytes - 4, "_fmt", 4) == 0)
			last.bytes -= 4;
	} else {
		return false;
	}
	strbuf_clear(&self->type);
	if (span_is(last, "ios_failure"))
		last = span_of("ios_base::failure");
	strbuf_addf(&self->type, "std::%.*s", (int)last.bytes, last.text);
	self->single = true;
	return found(self, TYPE_EXACT);
}

static bool is_copied(struct frame_search *self, const struct symbol_frame *frame, struct span last)
{
	struct strbuf type = {0};
	bool known = add_copied(&type, frame->function, last);

	if (known)
		set_type(self, NULL, strbuf_text(&type));
	strbuf_release(&type);
	return known;
}

/* Rust: what is in a box is called, and allocates what it likes. */
static bool is_call(struct span function)
{
	return span_is(function, "call") || span_is(function, "call_mut") ||
	       span_is(function, "call_once");
}

/* Rust: what the closure allocates may be inlined, and without lines nobody knows. */
static bool may_hide_closure(const struct symbol_frame *frame)
{
	return !frame->line && strstr(frame->function, "{closure#");
}

bool frame_search_step(struct frame_search *self, const struct symbol_frame *frame)
{
	static const struct rule own_allocator = {"", 0, ELEMENT, TYPE_LIKELY, NULL, NULL};
	const struct rule *rule;
	struct name_parts parts;
	struct span last;
	u32 at = 0;

	if (!*frame->function || c_function(self, frame) || !name_parse(frame->function, &parts))
		return false;
	if (self->thrown)
		return thrown(self, &parts);
	self->thrown = !self->found && strcmp(frame->function, "__cxa_allocate_exception") == 0;
	if (self->thrown)
		return true;
	last = parts.parts[parts.count - 1].name;
	if (self->found)
		return self->of_vector ? refine_vector(self, &parts) : refine(self, &parts);
	if (span_starts(last, "operator new"))
		return parts.count < 2 || own_operator(self, &parts, frame->function);
	rule = find_rule(self, &parts, &at);
	if (rule && strcmp(rule->path, "alloc::boxed::Box") == 0 && is_call(last))
		return false;
	if (rule && apply(self, rule, &parts.parts[at])) {
		/* Without lines nobody knows what was inlined into it. */
		bool plain = rule->confidence < TYPE_EXACT && !frame->line &&
			     !is_plain_string(&parts, at);
		bool more = found_by(self, &parts,
				     plain ? TYPE_GUESS : (enum type_confidence)rule->confidence);

		self->of_vector = strcmp(rule->path, "alloc::raw_vec::RawVec") == 0;
		if (self->of_vector)
			self->more = REFINE_FRAMES;
		return more || self->of_vector;
	}
	if (is_copied(self, frame, last))
		return found(self, frame->line ? TYPE_LIKELY : TYPE_GUESS);
	if (is_allocator(&parts) && apply(self, &own_allocator, &parts.parts[parts.count - 2]))
		return found_by(self, &parts, TYPE_LIKELY);
	/* "<&A as core::alloc::Allocator>::allocate" */
	if (*frame->function == '<' && is_placeholder(parts.parts[0].name))
		return true;
	name_path(&parts, parts.count, &self->path);
	return frame_is_helper(strbuf_text(&self->path)) && !is_constructor(&parts) &&
	       !frame_runs_others(last) && !may_hide_closure(frame);
}

void frame_search_release(struct frame_search *self)
{
	strbuf_release(&self->type);
	strbuf_release(&self->path);
	*self = (struct frame_search){0};
}
