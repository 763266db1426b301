/* SPDX-License-Identifier: MIT
 * Names and sizes of types as libclang has them, and the operands of sizeof.
 * Runs on the host. */
#include <ctype.h>
#include <string.h>

#include "host/symbols/indexer/walk.h"

const char *walk_keep(struct walk *self, CXString string)
{
	const char *text = self->clang->getCString(string);
	const char *kept = names_keep(&self->unit->texts, text ? text : "");

	self->clang->disposeString(string);
	return kept;
}

/* "const struct foo" → "foo": debug info and demangled names have no such words. */
static const char *plain_name(struct walk *self, const char *spelling)
{
	bool pointer = strchr(spelling, '*') != NULL;
	static const char *const words[] = {"struct ", "class ", "union ",
					    "enum ",   "const ", "volatile "};
	struct strbuf out = {0};
	const char *kept;

	for (const char *at = spelling; *at; at++) {
		bool starts = at == spelling || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
		u64 skip = 0;

		for (u32 i = 0; starts && i < sizeof words / sizeof *words; i++) {
			u64 bytes = strlen(words[i]);

			/* Elsewhere const makes another type. */
			if (!strncmp(at, words[i], bytes) && (i < 4 || (!out.count && !pointer)))
				skip = bytes;
		}
		if (skip)
			at += skip - 1;
		else
			strbuf_add_char(&out, *at);
	}
	kept = names_keep(&self->unit->texts, strbuf_text(&out));
	strbuf_release(&out);
	return kept;
}

CXType type_pointee(const struct walk *self, CXType type)
{
	CXType plain = self->clang->getCanonicalType(type);
	CXType none = {.kind = CXType_Invalid};

	if (type.kind == CXType_Pointer)
		return self->clang->getPointeeType(type);
	return plain.kind == CXType_Pointer ? self->clang->getPointeeType(plain) : none;
}

bool type_is_byte(const struct walk *self, CXType type)
{
	CXType plain = self->clang->getCanonicalType(type);
	bool byte = false;
	CXString name;

	switch (plain.kind) {
	case CXType_Void:
	case CXType_Char_U:
	case CXType_UChar:
	case CXType_Char_S:
	case CXType_SChar: return true;
	case CXType_Enum:
		name = self->clang->getTypeSpelling(plain);
		byte = !strcmp(self->clang->getCString(name), "std::byte");
		self->clang->disposeString(name);
		return byte;
	default: return false;
	}
}

/* Whether one of a class, its bases and members has to be called. */
struct destructor {
	struct walk *walk;
	u32 depth;
	bool found;
};

static void find_destructor(struct destructor *self, CXType type);

static enum CXChildVisitResult take_destructor(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct destructor *self = data;
	const struct clang *clang = self->walk->clang;

	(void)parent;
	switch (clang->getCursorKind(cursor)) {
	case CXCursor_Destructor:
		self->found =
			!clang->CXXMethod_isDefaulted(cursor) || clang->CXXMethod_isVirtual(cursor);
		break;
	case CXCursor_CXXBaseSpecifier:
	case CXCursor_FieldDecl: find_destructor(self, clang->getCursorType(cursor)); break;
	default: break;
	}
	return self->found ? CXChildVisit_Break : CXChildVisit_Continue;
}

static void find_destructor(struct destructor *self, CXType type)
{
	enum { DEPTH_MAX = 16 };
	const struct clang *clang = self->walk->clang;
	CXCursor class, template;

	type = clang->getCanonicalType(type);
	while (clang->getArrayElementType(type).kind != CXType_Invalid)
		type = clang->getCanonicalType(clang->getArrayElementType(type));
	if (type.kind != CXType_Record || self->depth == DEPTH_MAX)
		return;
	class = clang->getTypeDeclaration(type);
	/* an instantiation that nobody wrote has no children of its own */
	template = clang->getSpecializedCursorTemplate(class);
	self->depth++;
	clang->visitChildren(class, take_destructor, self);
	if (!self->found && !clang->Cursor_isNull(template))
		clang->visitChildren(clang->getCursorDefinition(template), take_destructor, self);
	self->depth--;
}

bool type_has_destructor(struct walk *self, CXType type)
{
	struct destructor search = {.walk = self};

	find_destructor(&search, type);
	return search.found;
}

bool type_describe(struct walk *self, CXType type, struct said_type *out)
{
	CXType plain = self->clang->getCanonicalType(type);
	long long size;
	const char *printed, *written;

	if (type.kind == CXType_Invalid || plain.kind == CXType_Void ||
	    plain.kind == CXType_FunctionProto || plain.kind == CXType_FunctionNoProto)
		return false;
	size = self->clang->Type_getSizeOf(plain);
	printed = walk_keep(self, self->clang->getTypeSpelling(plain));
	written = plain_name(self, walk_keep(self, self->clang->getTypeSpelling(type)));
	out->type = type;
	out->dependent = size == CXTypeLayoutError_Dependent || strstr(printed, "type-parameter-");
	out->size = size > 0 && !out->dependent ? (u64)size : 0;
	out->name = out->dependent ? written : type_name(self, type);
	out->written = !strcmp(written, out->name) ? "" : written;
	return *out->name != 0;
}

void said_add(struct said_types *self, const struct said_type *said)
{
	for (u32 i = 0; i < self->count; i++)
		if (!strcmp(self->items[i].name, said->name))
			return;
	if (self->count < TYPES_MAX)
		self->items[self->count++] = *said;
}

/* What stands below a sizeof. */
struct operand {
	const struct clang *clang;
	CXCursor last;
	u32 count;
	bool is_type, is_template;
};

static enum CXChildVisitResult take_operand(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct operand *self = data;
	enum CXCursorKind kind = self->clang->getCursorKind(cursor);

	(void)parent;
	self->last = cursor;
	self->count++;
	self->is_type = kind == CXCursor_TypeRef;
	self->is_template |= kind == CXCursor_TemplateRef;
	return CXChildVisit_Continue;
}

/* In a macro libclang gives the words of its definition, and what follows it. */
static bool in_macro(const struct walk *self, CXCursor cursor, CXToken first)
{
	CXSourceRange extent = self->clang->getCursorExtent(cursor);
	unsigned here, there;

	self->clang->getExpansionLocation(self->clang->getRangeStart(extent), NULL, NULL, NULL,
					  &here);
	self->clang->getExpansionLocation(self->clang->getTokenLocation(self->parsed, first), NULL,
					  NULL, NULL, &there);
	return here != there;
}

/* The words of the operand as the source has them, for types that libclang gives no cursor of
 * (sizeof(int)) or only that of their last part (sizeof(T *)). */
static void operand_words(struct walk *self, CXCursor cursor, struct strbuf *out, bool *is_sizeof)
{
	CXToken *tokens = NULL;
	unsigned count = 0;

	self->clang->tokenize(self->parsed, self->clang->getCursorExtent(cursor), &tokens, &count);
	for (unsigned i = 0; i < count && !in_macro(self, cursor, tokens[0]); i++) {
		CXString word = self->clang->getTokenSpelling(self->parsed, tokens[i]);
		const char *text = self->clang->getCString(word);

		if (i == 0)
			*is_sizeof = !strcmp(text, "sizeof");
		else if ((i > 1 || strcmp(text, "(")) && (i + 1 < count || strcmp(text, ")")))
			strbuf_addf(out, "%s%s", out->count ? " " : "", text);
		self->clang->disposeString(word);
	}
	self->clang->disposeTokens(self->parsed, tokens, count);
}

static u64 evaluate(struct walk *self, CXCursor cursor)
{
	CXEvalResult result = self->clang->Cursor_Evaluate(cursor);
	u64 value = 0;

	if (!result)
		return 0;
	if (self->clang->EvalResult_getKind(result) == CXEval_Int)
		value = self->clang->EvalResult_getAsUnsigned(result);
	self->clang->EvalResult_dispose(result);
	return value;
}

/* A type that only its words tell: a built-in one, or a pointer. */
static bool type_of_words(struct walk *self, const char *words, u64 size, struct said_type *out)
{
	bool pointer = *words && words[strlen(words) - 1] == '*';
	static const char *const known[] = {"int",   "long",   "short",  "unsigned", "signed",
					    "float", "double", "size_t", "void",     "char"};
	struct strbuf name = {0};

	*out = (struct said_type){.written = "", .size = size};
	for (u32 i = 0; i < sizeof known / sizeof *known; i++)
		if (!strncmp(words, known[i], strlen(known[i])))
			pointer |= true;
	if (!pointer)
		return false;
	for (const char *at = words; *at; at++) /* "node *" is "node*" for demanglers */
		if (*at != ' ' || at[1] != '*')
			strbuf_add_char(&name, *at);
	out->name = plain_name(self, strbuf_text(&name));
	strbuf_release(&name);
	return *out->name != 0;
}

static bool sizeof_operand(struct walk *self, CXCursor cursor, struct said_type *out)
{
	struct operand operand = {.clang = self->clang};
	struct strbuf words = {0};
	bool is_sizeof = false, good = false;
	u64 size = evaluate(self, cursor);

	self->clang->visitChildren(cursor, take_operand, &operand);
	operand_words(self, cursor, &words, &is_sizeof);
	if (operand.is_template || (is_sizeof && !strcmp(strbuf_text(&words), "")))
		good = false;
	else if (operand.count && !operand.is_type)
		good = type_describe(self, self->clang->getCursorType(operand.last), out);
	else if (operand.is_type) {
		CXType type = self->clang->getCursorType(operand.last);

		good = type_describe(self, type, out) &&
		       (!is_sizeof || !strchr(strbuf_text(&words), '*')) &&
		       (!size || !out->size || out->size == size);
		if (!good && is_sizeof)
			good = type_of_words(self, strbuf_text(&words), size, out);
	} else if (is_sizeof) {
		good = type_of_words(self, strbuf_text(&words), size, out);
	}
	strbuf_release(&words);
	return good;
}

struct sizeof_walk {
	struct walk *walk;
	struct said_types *out;
};

static enum CXChildVisitResult visit_sizeof(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct sizeof_walk *self = data;
	struct said_type said = {0};

	(void)parent;
	switch (self->walk->clang->getCursorKind(cursor)) {
	case CXCursor_UnaryExpr: /* sizeof, alignof and the like */
		if (sizeof_operand(self->walk, cursor, &said)) {
			said.how = HOW_SIZEOF;
			said_add(self->out, &said);
		}
		return CXChildVisit_Continue;
	case CXCursor_LambdaExpr:
	case CXCursor_CXXNewExpr: return CXChildVisit_Continue;
	default: return CXChildVisit_Recurse;
	}
}

void sizeof_types(struct walk *self, CXCursor below, struct said_types *out)
{
	struct sizeof_walk walk = {.walk = self, .out = out};

	if (visit_sizeof(below, below, &walk) == CXChildVisit_Recurse)
		self->clang->visitChildren(below, visit_sizeof, &walk);
}
