/* SPDX-License-Identifier: MIT
 * libclang, loaded when it is needed: it and LLVM are 150 MB that no other command should map. */
#ifndef HOST_SYMBOLS_INDEXER_CLANG_H
#define HOST_SYMBOLS_INDEXER_CLANG_H

#include <clang-c/CXCompilationDatabase.h>
#include <clang-c/Index.h>

#include "host/base/err.h"

#define CLANG_FUNCTIONS(X)                                                                         \
	X(createIndex)                                                                             \
	X(disposeIndex)                                                                            \
	X(parseTranslationUnit2)                                                                   \
	X(disposeTranslationUnit)                                                                  \
	X(getTranslationUnitCursor)                                                                \
	X(getNumDiagnostics)                                                                       \
	X(getDiagnostic)                                                                           \
	X(getDiagnosticSeverity)                                                                   \
	X(getDiagnosticLocation)                                                                   \
	X(formatDiagnostic)                                                                        \
	X(disposeDiagnostic)                                                                       \
	X(visitChildren)                                                                           \
	X(getInclusions)                                                                           \
	X(getFileName)                                                                             \
	X(getCursorKind)                                                                           \
	X(getCursorLocation)                                                                       \
	X(getCursorExtent)                                                                         \
	X(getCursorSpelling)                                                                       \
	X(getCursorUSR)                                                                            \
	X(getCursorType)                                                                           \
	X(getCursorResultType)                                                                     \
	X(getCursorReferenced)                                                                     \
	X(getCursorDefinition)                                                                     \
	X(getCursorSemanticParent)                                                                 \
	X(getSpecializedCursorTemplate)                                                            \
	X(CXXMethod_isDefaulted)                                                                   \
	X(CXXMethod_isVirtual)                                                                     \
	X(getNullCursor)                                                                           \
	X(Cursor_isNull)                                                                           \
	X(Cursor_getNumArguments)                                                                  \
	X(Cursor_getArgument)                                                                      \
	X(Cursor_getMangling)                                                                      \
	X(Cursor_Evaluate)                                                                         \
	X(EvalResult_getKind)                                                                      \
	X(EvalResult_getAsUnsigned)                                                                \
	X(EvalResult_dispose)                                                                      \
	X(getRangeStart)                                                                           \
	X(getRangeEnd)                                                                             \
	X(getPresumedLocation)                                                                     \
	X(getExpansionLocation)                                                                    \
	X(getSpellingLocation)                                                                     \
	X(Location_isInSystemHeader)                                                               \
	X(getCanonicalType)                                                                        \
	X(getPointeeType)                                                                          \
	X(getArrayElementType)                                                                     \
	X(getTypeSpelling)                                                                         \
	X(Type_getSizeOf)                                                                          \
	X(tokenize)                                                                                \
	X(getTokenSpelling)                                                                        \
	X(disposeTokens)                                                                           \
	X(getCString)                                                                              \
	X(disposeString)                                                                           \
	X(getClangVersion)                                                                         \
	X(CompilationDatabase_fromDirectory)                                                       \
	X(CompilationDatabase_dispose)                                                             \
	X(CompilationDatabase_getAllCompileCommands)                                               \
	X(CompileCommands_dispose)                                                                 \
	X(CompileCommands_getSize)                                                                 \
	X(CompileCommands_getCommand)                                                              \
	X(CompileCommand_getDirectory)                                                             \
	X(CompileCommand_getFilename)                                                              \
	X(CompileCommand_getNumArgs)                                                               \
	X(Type_getNumTemplateArguments)                                                            \
	X(Type_getTemplateArgumentAsType)                                                          \
	X(getTypeDeclaration)                                                                      \
	X(getArraySize)                                                                            \
	X(isConstQualifiedType)                                                                    \
	X(getCursorLanguage)                                                                       \
	X(getTokenLocation)                                                                        \
	X(CompileCommand_getArg)

struct clang {
	void *library;
#define X(name) __typeof__(clang_##name) *name;
	CLANG_FUNCTIONS(X)
#undef X
};

/* 0, or ERR_SYSTEM with what to install. */
int clang_load(struct clang *self, struct err *err);
void clang_unload(struct clang *self);

#endif
