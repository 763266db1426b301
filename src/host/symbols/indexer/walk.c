/* SPDX-License-Identifier: MIT
 * Walks the syntax tree of a unit and notes what allocates, and of which type.
 * Runs on the host, one walk per thread. Of system headers only the new expressions of templates
 * are noted: allocators there are known by the names of their frames. */
#include "host/symbols/indexer/walk.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/allocators.h"
#include "host/symbols/demangle.h"

enum { DEPTH_MAX = 20000, INSTANCES_MAX = 100000 };

/* Beside the malloc family. */
static const char *const others[] = {"strdup", "strndup", "operator new", "operator new[]"};

static bool is_named(const struct walk *self, const char *name)
{
	for (u32 i = 0; i < HW_ENTRIES; i++)
		if (hw_entries[i].allocator == HW_ALLOCATOR_PROGRAM &&
		    hw_entries[i].kind <= HW_MEMALIGN && !strcmp(hw_entries[i].name, name))
			return true;
	for (u32 i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(others[i], name))
			return true;
	for (u32 i = 0; i < self->options->function_count; i++)
		if (!strcmp(self->options->functions[i], name))
			return true;
	return false;
}

bool walk_is_spelled(const struct walk *self, CXSourceLocation location)
{
	const struct clang *clang = self->clang;
	CXFile file_a, file_b;
	unsigned a, b;

	clang->getExpansionLocation(location, &file_a, NULL, NULL, &a);
	clang->getSpellingLocation(location, &file_b, NULL, NULL, &b);
	return file_a == file_b && a == b;
}

/* ".." behind a symbolic link (/bin) leads elsewhere than the text says. */
void walk_clean_name(const struct walk *self, const char *name, struct strbuf *path)
{
	char *real;

	type_index_clean_path(self->unit->folder, name, path);
	if (!access(strbuf_text(path), F_OK) || *name != '/')
		return;
	real = realpath(name, NULL);
	if (real) {
		strbuf_clear(path);
		strbuf_add(path, real);
	}
	free(real);
}

/* Where compilers say that the call is: #line is obeyed, and a macro is a point. */
static bool set_place(struct walk *self, CXCursor cursor, struct type_site *site)
{
	CXSourceRange extent = self->clang->getCursorExtent(cursor);
	CXSourceLocation start = self->clang->getRangeStart(extent);
	CXSourceLocation end = self->clang->getRangeEnd(extent);
	struct strbuf path = {0};
	CXString name;

	self->clang->getPresumedLocation(start, &name, &site->line, &site->column);
	walk_clean_name(self, self->clang->getCString(name), &path);
	self->clang->disposeString(name);
	site->file = unit_file(self->unit, strbuf_text(&path));
	strbuf_release(&path);
	self->clang->getPresumedLocation(end, &name, &site->end_line, &site->end_column);
	self->clang->disposeString(name);
	if (!walk_is_spelled(self, start) || site->end_line < site->line ||
	    (site->end_line == site->line && site->end_column <= site->column)) {
		site->end_line = site->line;
		site->end_column = site->column + 1;
	}
	return site->file != UINT32_MAX && site->line;
}

static CXCursor enclosing_function(const struct walk *self)
{
	for (u64 i = self->stack.count; i-- > 0;) {
		switch (self->clang->getCursorKind(self->stack.data[i])) {
		case CXCursor_FunctionDecl:
		case CXCursor_CXXMethod:
		case CXCursor_Constructor:
		case CXCursor_Destructor:
		case CXCursor_ConversionFunction:
		case CXCursor_FunctionTemplate: return self->stack.data[i];
		case CXCursor_LambdaExpr: i = 0; break;
		default: break;
		}
	}
	return self->clang->getNullCursor();
}

static bool gives_pointer(const struct walk *self)
{
	CXCursor function = enclosing_function(self);
	CXType pointee;

	if (self->clang->Cursor_isNull(function))
		return false;
	pointee = type_pointee(self, self->clang->getCursorResultType(function));
	return pointee.kind != CXType_Invalid && type_is_byte(self, pointee);
}

struct parameters {
	struct walk *walk;
	struct strbuf *out;
};

static enum CXChildVisitResult add_parameter(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct parameters *self = data;
	enum CXCursorKind kind = self->walk->clang->getCursorKind(cursor);

	(void)parent;
	if (kind == CXCursor_TemplateTypeParameter || kind == CXCursor_NonTypeTemplateParameter ||
	    kind == CXCursor_TemplateTemplateParameter)
		strbuf_addf(self->out, " %s",
			    walk_keep(self->walk, self->walk->clang->getCursorSpelling(cursor)));
	return CXChildVisit_Continue;
}

/* "make V;Pool T N": the templates around, from the innermost on. Inner names hide outer ones. */
static const char *pattern_of(struct walk *self)
{
	CXCursor at = enclosing_function(self);
	struct strbuf out = {0};
	struct parameters parameters = {.walk = self, .out = &out};
	const char *kept;

	for (u32 depth = 0; depth < 64 && !self->clang->Cursor_isNull(at); depth++) {
		enum CXCursorKind kind = self->clang->getCursorKind(at);

		if (kind == CXCursor_TranslationUnit || kind == CXCursor_InvalidFile)
			break;
		if (kind == CXCursor_ClassTemplatePartialSpecialization) {
			/* Its parameters are not those that names show. */
			strbuf_clear(&out);
			break;
		}
		if (kind == CXCursor_FunctionTemplate || kind == CXCursor_ClassTemplate) {
			strbuf_addf(&out, "%s%s", out.count ? ";" : "",
				    walk_keep(self, self->clang->getCursorSpelling(at)));
			self->clang->visitChildren(at, add_parameter, &parameters);
		}
		at = self->clang->getCursorSemanticParent(at);
	}
	kept = names_keep(&self->unit->texts, out.count ? strbuf_text(&out) : "?");
	strbuf_release(&out);
	return kept;
}

/* An instantiation's expressions end elsewhere for libclang; compilers place both alike. */
static void take_extent(struct walk *self, struct type_site *site)
{
	u64 key = hash_u64(hash_u64((u64)site->line << 32 | site->column) ^ (u64)site->file << 8 ^
			   site->kind);
	u64 *number = map_at(&self->starts, key);
	const struct type_site *pattern;

	if (!number) {
		self->unit->no_memory = true;
	} else if (!*number) {
		*number = self->unit->sites.count + 1;
	} else if (*self->function) {
		pattern = &self->unit->sites.data[*number - 1];
		site->end_line = pattern->end_line;
		site->end_column = pattern->end_column;
	}
}

/* Notes all that is said of a place. */
static void add_sites(struct walk *self, CXCursor cursor, u8 kind, const char *callee,
		      const struct said_types *said)
{
	struct type_site site = {.kind = kind,
				 .callee = callee,
				 .pattern = "",
				 .function = self->function,
				 .gives_pointer = gives_pointer(self)};

	if (!set_place(self, cursor, &site))
		return;
	take_extent(self, &site);
	for (u32 i = 0; i < said->count || i == 0; i++) {
		const struct said_type *type = &said->items[i];

		site.how = said->count ? type->how : HOW_NONE;
		site.type = said->count ? type->name : "";
		site.written = said->count ? type->written : "";
		site.size = said->count ? type->size : 0;
		site.pattern = said->count && type->dependent ? pattern_of(self) : "";
		if (!vec_push(&self->unit->sites, site))
			self->unit->no_memory = true;
	}
}

/* What is done with the value of the expression on top of the stack. */
struct uses {
	struct said_type cast, target; /* the first that is no byte type; kind Invalid = none */
	bool has_cast, has_target, has_bytes;
};

static void note_use(struct walk *self, struct uses *uses, CXType type, bool is_cast)
{
	CXType pointee = type_pointee(self, type);

	if (pointee.kind == CXType_Invalid ||
	    self->clang->getCanonicalType(pointee).kind == CXType_Void)
		return;
	if (type_is_byte(self, pointee))
		uses->has_bytes = true;
	else if (is_cast && !uses->has_cast)
		uses->has_cast = type_describe(self, pointee, &uses->cast);
	else if (!is_cast && !uses->has_target)
		uses->has_target = type_describe(self, pointee, &uses->target);
}

/* From the inside out, as far as the value stays what it is. */
static void find_uses(struct walk *self, struct uses *uses)
{
	for (u64 i = self->stack.count; i-- > 0;) {
		CXCursor around = self->stack.data[i];
		CXType type = self->clang->getCursorType(around);

		switch (self->clang->getCursorKind(around)) {
		case CXCursor_CStyleCastExpr:
		case CXCursor_CXXStaticCastExpr:
		case CXCursor_CXXReinterpretCastExpr:
		case CXCursor_CXXFunctionalCastExpr:
		case CXCursor_CXXConstCastExpr: note_use(self, uses, type, true); break;
		case CXCursor_UnexposedExpr:
		case CXCursor_ParenExpr:
		case CXCursor_ConditionalOperator: note_use(self, uses, type, false); break;
		case CXCursor_BinaryOperator:
		case CXCursor_VarDecl:
		case CXCursor_CXXNewExpr: /* a place to make it at */
			note_use(self, uses, type, false);
			return;
		default: return;
		}
	}
}

static enum CXChildVisitResult first_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
	(void)parent;
	*(CXCursor *)data = cursor;
	return CXChildVisit_Break;
}

/* Type of an argument before it was converted. */
static CXType argument_type(const struct walk *self, CXCursor call, u32 number)
{
	CXCursor at = self->clang->Cursor_getArgument(call, number);

	for (u32 depth = 0; depth < 16; depth++) {
		CXCursor child = self->clang->getNullCursor();
		enum CXCursorKind kind = self->clang->getCursorKind(at);

		if (kind != CXCursor_UnexposedExpr && kind != CXCursor_ParenExpr &&
		    kind != CXCursor_CStyleCastExpr && kind != CXCursor_CXXReinterpretCastExpr &&
		    kind != CXCursor_CXXStaticCastExpr)
			break;
		self->clang->visitChildren(at, first_child, &child);
		if (self->clang->Cursor_isNull(child) ||
		    self->clang->getCursorKind(child) == CXCursor_TypeRef)
			break;
		at = child;
	}
	return self->clang->getCursorType(at);
}

static void add_how(struct said_types *out, const struct said_type *said, u8 how)
{
	struct said_type copy = *said;

	copy.how = how;
	said_add(out, &copy);
}

static bool agrees(const struct said_types *sizes, const struct said_type *said)
{
	for (u32 i = 0; i < sizes->count; i++)
		if (!strcmp(sizes->items[i].name, said->name))
			return true;
	return false;
}

/* Of several operands of sizeof the largest is most of the block. */
static void sort_by_size(struct said_types *sizes)
{
	for (u32 i = 1; i < sizes->count; i++)
		for (u32 k = i; k > 0 && sizes->items[k - 1].size < sizes->items[k].size; k--) {
			struct said_type swapped = sizes->items[k];

			sizes->items[k] = sizes->items[k - 1];
			sizes->items[k - 1] = swapped;
		}
}

static bool is_scalar(const struct walk *self, const struct said_type *said)
{
	enum CXTypeKind kind = self->clang->getCanonicalType(said->type).kind;

	return kind >= CXType_FirstBuiltin && kind <= CXType_LastBuiltin;
}

/* The types in the order in which they are believed. */
static void judge(struct walk *self, const struct uses *uses, const struct said_types *sizes,
		  struct said_types *out)
{
	const struct said_type *used = uses->has_cast     ? &uses->cast
				       : uses->has_target ? &uses->target
							  : NULL;

	if (used && agrees(sizes, used)) {
		add_how(out, used, HOW_AGREED);
		return;
	}
	/* "long *p = malloc(n + 8); *p = n; return p + 1;": a place to write its size at. */
	if (used && is_scalar(self, used) && gives_pointer(self))
		used = NULL;
	if (used)
		add_how(out, used, uses->has_cast ? HOW_CAST : HOW_TARGET);
	for (u32 i = 0; i < sizes->count; i++)
		if (strcmp(sizes->items[i].name, "char"))
			add_how(out, &sizes->items[i], HOW_SIZEOF);
}

static void add_bytes(struct said_types *out)
{
	struct said_type bytes = {.how = HOW_BYTES, .name = "char", .written = "", .size = 1};

	said_add(out, &bytes);
}

static void find_new(struct walk *self, CXCursor cursor)
{
	struct said_types out = {0}, sizes = {0};
	CXType type = type_pointee(self, self->clang->getCursorType(cursor));
	struct said_type said = {.how = HOW_NEW};
	struct uses uses = {0};

	if (type_is_byte(self, type)) {
		find_uses(self, &uses);
		sizeof_types(self, cursor, &sizes);
		judge(self, &uses, &sizes, &out);
	}
	if (type_has_destructor(self, type))
		said.how = HOW_COUNTED;
	if (type_describe(self, type, &said))
		said_add(&out, &said);
	add_sites(self, cursor, SITE_NEW, "", &out);
}

static void find_call(struct walk *self, CXCursor cursor, const char *name, u8 kind)
{
	struct said_types out = {0}, sizes = {0};
	struct uses uses = {0};
	int arguments = self->clang->Cursor_getNumArguments(cursor);
	bool realloc_like = !strcmp(name, "realloc") || !strcmp(name, "reallocarray");
	struct said_type old = {0};

	note_use(self, &uses, self->clang->getCursorType(cursor), false);
	find_uses(self, &uses);
	if (!strcmp(name, "posix_memalign") && arguments > 0)
		note_use(self, &uses, type_pointee(self, argument_type(self, cursor, 0)), false);
	for (int i = 0; i < arguments; i++)
		sizeof_types(self, self->clang->Cursor_getArgument(cursor, (unsigned)i), &sizes);
	sort_by_size(&sizes);
	judge(self, &uses, &sizes, &out);
	if (!out.count && realloc_like && arguments > 0) {
		CXType type = type_pointee(self, argument_type(self, cursor, 0));

		if (type.kind != CXType_Invalid && !type_is_byte(self, type) &&
		    type_describe(self, type, &old))
			add_how(&out, &old, HOW_OLD);
	}
	if (!out.count && (uses.has_bytes || sizes.count) && kind == SITE_CALL)
		add_bytes(&out);
	add_sites(self, cursor, kind, name, &out);
}

/* A function that a template was made into: to be walked later, with its own types. */
static void note_instance(struct walk *self, CXCursor function)
{
	const struct clang *clang = self->clang;
	CXCursor definition;
	u64 *seen;
	const char *name;

	if (clang->Cursor_isNull(function) ||
	    clang->Cursor_isNull(clang->getSpecializedCursorTemplate(function)) ||
	    clang->Location_isInSystemHeader(clang->getCursorLocation(function)) ||
	    self->instances.count >= INSTANCES_MAX)
		return;
	definition = clang->getCursorDefinition(function);
	if (clang->Cursor_isNull(definition))
		definition = function;
	name = walk_keep(self, clang->getCursorUSR(function));
	seen = map_at(&self->seen, hash_text(HASH_START, name));
	if (!seen || (!*seen && !vec_push(&self->instances, definition)))
		self->unit->no_memory = true;
	else
		*seen = 1;
}

/* Whether the name is that of the function: a pointer may lead to any. */
static bool is_direct(const struct walk *self, CXCursor call)
{
	switch (self->clang->getCursorKind(self->clang->getCursorReferenced(call))) {
	case CXCursor_FunctionDecl:
	case CXCursor_FunctionTemplate:
	case CXCursor_CXXMethod:
	case CXCursor_ConversionFunction:
	case CXCursor_OverloadedDeclRef: return true;
	default: return false;
	}
}

static void visit_call(struct walk *self, CXCursor cursor)
{
	CXType type = self->clang->getCanonicalType(self->clang->getCursorType(cursor));
	const char *name;
	CXType pointee;

	note_instance(self, self->clang->getCursorReferenced(cursor));
	name = walk_keep(self, self->clang->getCursorSpelling(cursor));
	if (is_named(self, name)) {
		find_call(self, cursor, strncmp(name, "operator new", 12) ? name : "operator new",
			  SITE_CALL);
		return;
	}
	pointee = type_pointee(self, type);
	if (pointee.kind == CXType_Void)
		find_call(self, cursor, is_direct(self, cursor) ? name : "*", SITE_WRAP);
}

/* What is looked into of system headers: templates, for they make the program's types. */
static bool may_have_templates(enum CXCursorKind kind)
{
	switch (kind) {
	case CXCursor_Namespace:
	case CXCursor_LinkageSpec:
	case CXCursor_UnexposedDecl:
	case CXCursor_StructDecl:
	case CXCursor_ClassDecl:
	case CXCursor_ClassTemplate:
	case CXCursor_FunctionTemplate: return true;
	default: return false;
	}
}

static enum CXChildVisitResult visit_system(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct walk *self = data;
	enum CXCursorKind kind = self->clang->getCursorKind(cursor);

	(void)parent;
	if (kind == CXCursor_CXXNewExpr)
		find_new(self, cursor);
	if ((self->in_template || may_have_templates(kind)) && self->stack.count < DEPTH_MAX) {
		bool before = self->in_template;

		self->in_template |=
			kind == CXCursor_ClassTemplate || kind == CXCursor_FunctionTemplate;
		if (vec_push(&self->stack, cursor)) {
			self->clang->visitChildren(cursor, visit_system, self);
			self->stack.count--;
		}
		self->in_template = before;
	}
	return CXChildVisit_Continue;
}

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct walk *self = data;
	const struct clang *clang = self->clang;
	enum CXCursorKind kind = clang->getCursorKind(cursor);

	(void)parent;
	if (!self->stack.count && clang->getCursorLanguage(cursor) == CXLanguage_CPlusPlus)
		self->is_cpp = true;
	if (!self->stack.count &&
	    clang->Location_isInSystemHeader(clang->getCursorLocation(cursor)))
		return visit_system(cursor, parent, data);
	if (kind == CXCursor_CXXNewExpr)
		find_new(self, cursor);
	else if (kind == CXCursor_CallExpr)
		visit_call(self, cursor);
	if (self->stack.count >= DEPTH_MAX || !vec_push(&self->stack, cursor))
		return CXChildVisit_Continue;
	clang->visitChildren(cursor, visit, self);
	self->stack.count--;
	return CXChildVisit_Continue;
}

static void walk_instance(struct walk *self, CXCursor function)
{
	const char *mangled = walk_keep(self, self->clang->Cursor_getMangling(function));
	char *readable = demangle(mangled);

	if (readable && vec_push(&self->stack, function)) {
		self->function = names_keep(&self->unit->texts, readable);
		self->clang->visitChildren(function, visit, self);
		self->stack.count = 0;
	}
	free(readable);
}

void walk_all(struct walk *self)
{
	self->clang->visitChildren(self->clang->getTranslationUnitCursor(self->parsed), visit,
				   self);
	for (u64 i = 0; i < self->instances.count; i++)
		walk_instance(self, self->instances.data[i]);
}
