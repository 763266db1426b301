/* SPDX-License-Identifier: MIT
 * Parses a translation unit with libclang, and has it walked.
 * Host. */
#include <stdlib.h>
#include <string.h>

#include "host/symbols/indexer/walk.h"

static void take_inclusion(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data)
{
	struct walk *self = data;
	CXString name = self->clang->getFileName(file);
	struct strbuf path = {0};

	(void)stack;
	(void)depth;
	walk_clean_name(self, self->clang->getCString(name), &path);
	unit_file(self->unit, strbuf_text(&path));
	self->clang->disposeString(name);
	strbuf_release(&path);
}

static void count_errors(struct walk *self)
{
	const struct clang *clang = self->clang;
	unsigned count = clang->getNumDiagnostics(self->parsed);

	for (unsigned i = 0; i < count; i++) {
		CXDiagnostic diagnostic = clang->getDiagnostic(self->parsed, i);

		if (clang->getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
			CXString text = clang->formatDiagnostic(diagnostic,
								CXDiagnostic_DisplaySourceLocation);

			if (!self->unit->errors++)
				strncpy(self->unit->first_error, clang->getCString(text),
					sizeof self->unit->first_error - 1);
			clang->disposeString(text);
		}
		clang->disposeDiagnostic(diagnostic);
	}
}

/* Whether the source was parsed without an option that libclang refused: an error without a place.
 * With an unknown -march=, it does so for aarch64, while for x86_64 it does not parse at all. */
static bool option_refused(struct walk *self)
{
	const struct clang *clang = self->clang;
	unsigned count = clang->getNumDiagnostics(self->parsed);
	bool refused = false;

	for (unsigned i = 0; i < count && !refused; i++) {
		CXDiagnostic diagnostic = clang->getDiagnostic(self->parsed, i);
		CXFile file = NULL;

		clang->getExpansionLocation(clang->getDiagnosticLocation(diagnostic), &file, NULL,
					    NULL, NULL);
		refused = !file && clang->getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error;
		clang->disposeDiagnostic(diagnostic);
	}
	return refused;
}

static enum CXErrorCode parse_with(struct walk *self, CXIndex index, u32 flag_count)
{
	const char **flags = malloc((flag_count + 1u) * sizeof *flags);
	enum CXErrorCode code = CXError_Failure;

	if (flags) {
		flags[0] = "-w";
		memcpy(flags + 1, self->unit->flags, flag_count * sizeof *flags);
		code = self->clang->parseTranslationUnit2(index, self->unit->path, flags,
							  (int)flag_count + 1, NULL, 0,
							  CXTranslationUnit_KeepGoing,
							  &self->parsed);
	}
	free(flags);
	return code;
}

/* Without the options that this libclang may not know, if it must be. */
static enum CXErrorCode parse(struct walk *self, CXIndex index)
{
	enum CXErrorCode code = parse_with(self, index, self->unit->flag_count);

	if (self->unit->plain_count == self->unit->flag_count)
		return code;
	if (code == CXError_Success && !option_refused(self))
		return code;
	if (code == CXError_Success)
		self->clang->disposeTranslationUnit(self->parsed);
	return parse_with(self, index, self->unit->plain_count);
}

void unit_parse(struct unit *self, const struct clang *clang, const struct indexer_options *options)
{
	struct walk walk = {.clang = clang, .options = options, .unit = self, .function = ""};
	CXIndex index = clang->createIndex(0, 0);

	self->parsed = true;
	unit_file(self, self->path);
	if (!index || parse(&walk, index) != CXError_Success) {
		self->failed = true;
		goto done;
	}
	count_errors(&walk);
	clang->getInclusions(walk.parsed, take_inclusion, &walk);
	walk_all(&walk);
	clang->disposeTranslationUnit(walk.parsed);
done:
	vec_release(&walk.stack);
	vec_release(&walk.instances);
	map_release(&walk.seen);
	map_release(&walk.starts);
	if (index)
		clang->disposeIndex(index);
}
