/* SPDX-License-Identifier: MIT
 * Names of types as demanglers write them: "std::vector<int, std::allocator<int> >", "char const*".
 * Other sources of types have these names, and libclang's own leave out default arguments and
 * inline namespaces. Runs on the host. */
#include <stdlib.h>
#include <string.h>

#include "host/symbols/indexer/walk.h"
#include "host/symbols/demangle.h"

enum { NAME_DEPTH_MAX = 24, NAME_BYTES_MAX = 4096 };

static bool put_type(struct walk *self, CXType type, u32 depth, struct strbuf *out);

static bool put_text(struct walk *self, CXString string, struct strbuf *out)
{
	const char *text = self->clang->getCString(string);
	bool good = text && *text && *text != '(';

	if (good)
		strbuf_add(out, text);
	self->clang->disposeString(string);
	return good && out->count < NAME_BYTES_MAX;
}

/* "work(int)::" of a type inside a function; nothing in C. */
static bool put_function(struct walk *self, CXCursor function, struct strbuf *out)
{
	const char *mangled = walk_keep(self, self->clang->Cursor_getMangling(function));
	char *readable = demangle(mangled);

	if (readable)
		strbuf_addf(out, "%s::", readable);
	else if (!strcmp(mangled, "main") && self->is_cpp)
		strbuf_add(out, "main::");
	free(readable);
	return true;
}

/* Namespaces and classes around a declaration. */
static bool put_scope(struct walk *self, CXCursor declaration, u32 depth, struct strbuf *out)
{
	CXCursor around = self->clang->getCursorSemanticParent(declaration);

	if (depth > NAME_DEPTH_MAX)
		return false;
	switch (self->clang->getCursorKind(around)) {
	case CXCursor_Namespace:
		if (!put_scope(self, around, depth + 1, out))
			return false;
		if (!put_text(self, self->clang->getCursorSpelling(around), out))
			strbuf_add(out, "(anonymous namespace)");
		strbuf_add(out, "::");
		return true;
	case CXCursor_StructDecl:
	case CXCursor_ClassDecl:
	case CXCursor_UnionDecl:
		if (!self->is_cpp)
			return true;
		if (!put_type(self, self->clang->getCursorType(around), depth + 1, out))
			return false;
		strbuf_add(out, "::");
		return true;
	case CXCursor_FunctionDecl:
	case CXCursor_CXXMethod:
	case CXCursor_Constructor:
	case CXCursor_Destructor: return put_function(self, around, out);
	case CXCursor_LinkageSpec:
	case CXCursor_UnexposedDecl: return put_scope(self, around, depth + 1, out);
	default: return true;
	}
}

/* Argument number `wanted` of a printed "name<a, b<c>, d>"; false if there is none. */
static bool put_printed_argument(const char *text, int wanted, struct strbuf *out)
{
	const char *start = text ? strchr(text, '<') : NULL;
	int depth = 0;

	for (const char *at = start; at && *at; at++) {
		if (strchr("<([{", *at) && depth++ == 0)
			start = at + 1;
		if (depth == 1 && (*at == ',' || *at == '>') && wanted-- == 0) {
			while (*start == ' ')
				start++;
			strbuf_add_bytes(out, start, (u64)(at - start));
			return at > start;
		}
		if (depth == 1 && *at == ',')
			start = at + 1;
		if (strchr(">)]}", *at) && --depth == 0)
			return false;
	}
	return false;
}

static bool put_arguments(struct walk *self, CXType type, u32 depth, struct strbuf *out)
{
	int count = self->clang->Type_getNumTemplateArguments(type);
	CXString printed;
	bool good = true;

	if (count < 0)
		return true;
	printed = self->clang->getTypeSpelling(type);
	strbuf_add_char(out, '<');
	for (int i = 0; i < count && good; i++) {
		CXType argument = self->clang->Type_getTemplateArgumentAsType(type, (unsigned)i);

		strbuf_add(out, i ? ", " : "");
		good = argument.kind != CXType_Invalid
			       ? put_type(self, argument, depth + 1, out)
			       : put_printed_argument(self->clang->getCString(printed), i, out);
	}
	strbuf_add(out, out->count && out->text[out->count - 1] == '>' ? " >" : ">");
	self->clang->disposeString(printed);
	return good;
}

/* Classes, unions and enumerations. */
static bool put_declared(struct walk *self, CXType type, u32 depth, struct strbuf *out)
{
	CXCursor declaration = self->clang->getTypeDeclaration(type);
	CXString spelling = self->clang->getTypeSpelling(type);
	const char *text = self->clang->getCString(spelling);
	const char *last = text;
	bool good = true;

	/* Of a structure without a name of its own the type has its typedef's. */
	if (!put_scope(self, declaration, depth, out))
		good = false;
	else if (!put_text(self, self->clang->getCursorSpelling(declaration), out)) {
		for (const char *at = text; *at; at++)
			if (*at == ' ' || (*at == ':' && at[1] != ':'))
				last = at + 1;
		good = !strchr(text, '(');
		strbuf_add(out, last);
	}
	self->clang->disposeString(spelling);
	return good && put_arguments(self, type, depth, out);
}

static bool put_plain(struct walk *self, CXType type, u32 depth, struct strbuf *out)
{
	CXString spelling;
	const char *text;
	bool good;

	switch (type.kind) {
	case CXType_Pointer:
		if (!put_type(self, self->clang->getPointeeType(type), depth + 1, out))
			return false;
		strbuf_add_char(out, '*');
		return true;
	case CXType_LValueReference:
	case CXType_RValueReference:
		if (!put_type(self, self->clang->getPointeeType(type), depth + 1, out))
			return false;
		strbuf_add(out, type.kind == CXType_LValueReference ? "&" : "&&");
		return true;
	case CXType_ConstantArray:
		if (!put_type(self, self->clang->getArrayElementType(type), depth + 1, out))
			return false;
		strbuf_addf(out, " [%lld]", self->clang->getArraySize(type));
		return true;
	case CXType_Record:
	case CXType_Enum: return put_declared(self, type, depth, out);
	default:
		spelling = self->clang->getTypeSpelling(type);
		text = self->clang->getCString(spelling);
		text += strncmp(text, "const ", 6) ? 0 : 6;
		good = !strstr(text, "(lambda") && !strstr(text, "(unnamed");
		strbuf_add(out, !strcmp(text, "_Bool") && self->is_cpp ? "bool" : text);
		self->clang->disposeString(spelling);
		return good;
	}
}

static bool put_type(struct walk *self, CXType type, u32 depth, struct strbuf *out)
{
	CXType plain = self->clang->getCanonicalType(type);

	if (depth > NAME_DEPTH_MAX || out->count > NAME_BYTES_MAX ||
	    !put_plain(self, plain, depth, out))
		return false;
	if (depth && self->clang->isConstQualifiedType(plain))
		strbuf_add(out, " const");
	return true;
}

const char *type_name(struct walk *self, CXType type)
{
	struct strbuf out = {0};
	const char *kept = "";

	if (put_type(self, type, 0, &out) && !out.failed)
		kept = names_keep(&self->unit->texts, strbuf_text(&out));
	strbuf_release(&out);
	return kept;
}
