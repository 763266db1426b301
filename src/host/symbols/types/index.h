/* SPDX-License-Identifier: MIT
 * Which types allocations in the source have: the index that `heapwise trace types-index` writes,
 * and look-ups in it by the positions of call sites. docs/TYPES-INDEX.md has the file.
 *
 *	struct type_index *index = type_index_load(path, err);
 *	struct type_index_query query = {.frames = frames, .frame_count = count, .size_bytes = 48};
 *	struct type_index_answer answer;
 *	if (type_index_find_stack(index, &query, &answer))
 *		… answer.type
 *	type_index_free(index);
 *
 * Look-ups change nothing: threads may share an index. */
#ifndef HOST_SYMBOLS_TYPES_INDEX_H
#define HOST_SYMBOLS_TYPES_INDEX_H

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/trace/symtab.h"

#define TYPE_INDEX_NAME "heapwise-types.hwx"
#define TYPE_INDEX_VERSION 2

/* What stands in the source. The letters are those of the file. */
enum site_kind {
	SITE_NEW = 'n', /* a new expression */
	SITE_CALL =
		'c', /* a call of malloc, one of its family, or a function that the user named */
	SITE_WRAP =
		'w', /* a call of another function that gives a void *: it may pass a block on */
};

/* Where the type comes from. */
enum site_how {
	HOW_NEW = 'n',     /* of the new expression */
	HOW_COUNTED = 'd', /* the same; it has a destructor, so arrays begin with their number */
	HOW_AGREED = 'a',  /* cast, or what it is assigned to, and sizeof say the same */
	HOW_CAST = 'c',   /* of a cast around the call: of several the first that is no byte type */
	HOW_TARGET = 't', /* what the result is converted to: a variable, a member, a parameter */
	HOW_SIZEOF = 's', /* operand of a sizeof in the arguments */
	HOW_OLD = 'o',    /* pointer that realloc was given */
	HOW_BYTES = 'b',  /* a character type, and nothing says more */
	HOW_NONE = '-',   /* nothing: in a function that gives a pointer, its caller may know */
};

/* One type of one place. Lines and columns are those of the line table, counted from 1; the end is
 * exclusive. Places in macros are points: the first character of the outermost macro. */
struct type_site {
	u32 file;
	u32 line, column, end_line, end_column;
	u8 kind;              /* enum site_kind */
	u8 how;               /* enum site_how */
	bool gives_pointer;   /* the function around it gives a void or character pointer */
	u64 size;             /* of the type in bytes, 0 = unknown */
	const char *type;     /* without typedefs, "" = unknown */
	const char *written;  /* as the source has it, "" = the same */
	const char *callee;   /* what is called, "" = a new expression or not known */
	const char *pattern;  /* of a template: "Pool T N;make V", "" = the type is final */
	const char *function; /* instantiation that has this type, demangled; "" = all */
};

/* A file that was read to make the index. */
struct type_file {
	const char *path; /* absolute, without . and .. */
	u64 mtime_ns;
	u64 bytes;
};

struct u32_list {
	u32 *data;
	u64 count, capacity;
};

/* A translation unit: what to make it anew by. */
struct type_unit {
	u64 key; /* hash of the command and of everything else that decides */
	const char *main_file;
	struct u32_list files; /* numbers of what it read, ascending */
	struct u32_list sites; /* numbers, ascending */
};

struct type_index {
	struct arena arena; /* texts */
	VEC(struct type_file) files;
	VEC(struct type_site) sites;
	VEC(struct type_unit) units;
	u32 *order; /* sites by file and line; those of one place in the order of the file */
	u32 *reach; /* per place in order: largest end_line of this and earlier ones of the file */
	u64 *first; /* per file: where its sites begin in order; one more at the end */
	u32 *by_base; /* files by their last component */
};

enum type_index_confidence { TYPE_INDEX_EXACT, TYPE_INDEX_LIKELY, TYPE_INDEX_GUESS };

struct type_index_query {
	const struct symbol_frame *frames; /* innermost first, inlined ones included */
	u32 frame_count;
	u64 size_bytes; /* of the chunk; 0 = unknown. Types that do not fit come last */
};

struct type_index_answer {
	const char *type;    /* of an element, for arrays; lives as long as the index */
	const char *written; /* as the source has it: a typedef's name */
	u64 size;            /* of the type; 0 = unknown */
	enum type_index_confidence confidence;
	const struct type_site *site;
	u32 frame;      /* number of the frame that had it */
	u32 types;      /* different types at this place */
	char text[512]; /* where type points when a template's pattern was filled in */
};

/* NULL and err if there is no index, or a file that is none. */
struct type_index *type_index_load(const char *path, struct err *err);
struct type_index *type_index_parse(const char *text, u64 bytes, struct err *err);
void type_index_free(struct type_index *self);

/* Makes what look-ups need out of files and sites; reading does so by itself. */
int type_index_sort(struct type_index *self, struct err *err);

/* Type at the position of one frame; column 0 = unknown. Its function (may be "") chooses among the
 * instantiations of a template. False if no type is known there. */
bool type_index_find(const struct type_index *self, const struct symbol_frame *frame,
		     u64 size_bytes, struct type_index_answer *answer);

/* Type of the chunk that a stack allocated: of its innermost frame, or of a caller of functions
 * that pass blocks on. */
bool type_index_find_stack(const struct type_index *self, const struct type_index_query *query,
			   struct type_index_answer *answer);

/* Path of the index of a program: beside it, or in one of the folders above. False if there is
 * none. */
bool type_index_locate(const char *program, struct strbuf *path);

/* Path without "//", "/./" and "/../". */
void type_index_clean_path(const char *folder, const char *path, struct strbuf *out);

#endif
