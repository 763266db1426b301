/* SPDX-License-Identifier: MIT
 * What a query may ask of one trace, as tables: a field that belongs to allocation points, types,
 * threads and so on is looked at once for each of these and kept by what the chunk columns hold (a
 * context, a thread, the number of a type), so that a pass over the chunks only looks it up. Found
 * when first asked for. For the engine only. */
#ifndef STUDY_QUERY_DOMAIN_H
#define STUDY_QUERY_DOMAIN_H

#include "study/analysis/owners/owners.h"
#include "study/query/asked.h"
#include "study/query/catalogue.h"
#include "study/query/query.h"
#include "host/symbols/names.h"

/* What a chunk is looked up by. */
enum index_kind {
	INDEX_NONE,  /* the field is calculated from the columns */
	INDEX_POINT, /* by alloc_context */
	INDEX_FREE,  /* by free_context, of chunks that were freed */
	INDEX_THREAD,
	INDEX_TYPE,
	INDEX_KIND,
	INDEX_END,
	INDEX_CLASS,
	INDEX_OWNER, /* by shape, of chunks that were live at the scan */
	INDEX_ENTRY, /* by entry, of what was joined */
};

/* A field by index: numbers, NAN where it is unknown. Of a text the number is its place in texts,
 * which are in alphabetic order, each once. */
struct field_table {
	bool made;
	double *numbers;
	u64 count;
	const char **texts;
	u32 text_count;
};

/* Where the innermost function that is not the language's own library stands. */
struct tip {
	u32 frame, name; /* name UINT32_MAX: the frame has no names */
};

struct type_entry {
	const char *name, *folded;
	u8 origin;
};

struct domain {
	struct query_trace trace;
	u32 number; /* of the trace among those of the engine */
	const struct model *model;
	struct stack_source source;
	struct names names;
	struct field_table fields[FIELDS];
	u64 contexts, frames; /* tables have that many */

	bool named;                      /* these four are there */
	struct stack_names *frame_names; /* by frame */
	struct tip *tips;
	u64 *stack_keys; /* by frame: equal for stacks of the same functions, in any trace */
	u32 *depths;

	bool types_ready;
	struct type_cascade types;
	VEC(struct type_entry) type_entries; /* number 0 is unknown */
	struct map type_numbers;
	u32 *type_by_context; /* where no chunk has a type of its own */
	u32 **type_pages;     /* by page, NULL = by context */

	const struct behaviour_table *behaviour; /* NULL = not asked for yet */
	struct behaviour_table own_behaviour;

	bool owners_ready, has_owners; /* has_owners: the trace has pointers */
	struct owners owners;
	struct model *pointers; /* has the graph, if that of the trace does not */
};

int domain_init(struct domain *self, const struct query_trace *trace, u32 number, struct err *err);
void domain_release(struct domain *self);

enum index_kind field_index(enum field field);

/* Puts texts in alphabetic order. */
void texts_sort(const char **texts, u64 count);

/* How many entries tables of that index have. */
u64 domain_index_count(const struct domain *self, enum index_kind index);

/* The table of a field that is looked up; NULL and err. */
const struct field_table *domain_table(struct domain *self, enum field field, struct err *err);

/* Must be called before anything is asked that needs them. */
int domain_need_types(struct domain *self, struct err *err);
int domain_need_names(struct domain *self, struct err *err);
int domain_need_scores(struct domain *self, struct err *err);
int domain_need_owners(struct domain *self, struct err *err);
void domain_release_owners(struct domain *self);

/* Of these chunks the nodes of the owners, UINT32_MAX = it was not live at the scan. */
void domain_nodes(const struct domain *self, u64 first, u32 count, u32 *nodes);

/* Who holds the chunks of a shape; NULL = nobody. */
const char *domain_owner_text(struct domain *self, u32 shape);

/* The innermost frame of an allocating or freeing context. */
u32 domain_frame(const struct domain *self, u32 context, bool frees);

/* A text test: == or ~ or a list of texts, as expressions have it. */
struct text_test {
	const struct expr *expr; /* EXPR_TEXT (literal) or EXPR_REGEX */
	bool equal;              /* the whole text, as it is; else a part of it */
	void *regex;             /* regex_t */
	struct map known;        /* address of a text → 1 no, 2 yes */
};
bool text_test_init(struct text_test *self, const struct expr *expr, bool equal);
bool text_test_holds(struct text_test *self, const char *text);
void text_test_release(struct text_test *self);

/* For each frame whether the test holds for it or for any of its callers, by what field (of type
 * FIELD_TEXTS) looks at; to be freed. NULL and err. With `own` it is for the frame alone, and holds
 * only if it does for all of its names. */
u8 *domain_frames_matching(struct domain *self, enum field field, struct text_test *test, bool own,
			   struct err *err);

/* For each frame whether the field is known of the stack that it begins: a stack if there is one,
 * its files and modules if at least one is known. To be freed; NULL and err. */
u8 *domain_frames_known(struct domain *self, enum field field, struct err *err);

#endif
