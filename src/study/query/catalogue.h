/* SPDX-License-Identifier: MIT
 * Every word of the query language: fields of an entry, stages, functions, views, colours. One
 * list, from which come help, manual page, completion, the boxes of filter graphs, and the errors'
 * suggestions. */
#ifndef STUDY_QUERY_CATALOGUE_H
#define STUDY_QUERY_CATALOGUE_H

#include "format/types.h"
#include "study/result/result.h"

enum field_type {
	FIELD_NUMBER,
	FIELD_BYTES,
	FIELD_TIME,
	FIELD_SHARE,
	FIELD_ID,
	FIELD_ADDRESS,
	FIELD_BOOL,
	FIELD_TEXT,
	FIELD_TEXTS, /* of every frame of a stack: one that fits is enough */
	FIELD_COLOR,
};

/* What a field is known by: it is looked at once for each of these. */
enum field_level { LEVEL_CHUNK, LEVEL_POINT, LEVEL_FREE_STACK, LEVEL_TYPE, LEVEL_THREAD };

enum { NEEDS_ACCESS = 1, NEEDS_TYPES = 2, NEEDS_SCORES = 4, NEEDS_SCAN = 8, NEEDS_OWNERS = 16 };

/* What the field of an entry is that stands for several chunks. */
enum field_join { JOIN_SAME, JOIN_SUM, JOIN_MIN, JOIN_MAX };

/* id, name, type, level, needs, join, meaning */
#define QUERY_FIELDS(F)                                                                            \
	F(CHUNK, "chunk", ID, CHUNK, 0, MIN, "number of the chunk, in the order of allocation")    \
	F(CHUNKS, "chunks", NUMBER, CHUNK, 0, SUM, "number of chunks in the row")                  \
	F(ADDR, "addr", ADDRESS, CHUNK, 0, MIN, "address")                                         \
	F(SIZE, "size", BYTES, CHUNK, 0, SUM, "requested bytes")                                   \
	F(COUNT, "count", NUMBER, TYPE, NEEDS_TYPES, SUM,                                          \
	  "number of elements of the type, if "                                                    \
	  "known")                                                                                 \
	F(ALLOC, "alloc", TIME, CHUNK, 0, MIN, "time of its allocation, since the start")          \
	F(FREE, "free", TIME, CHUNK, 0, MAX, "time of its free; unknown if never freed")           \
	F(LIFE, "life", TIME, CHUNK, 0, MAX,                                                       \
	  "time from its allocation to its free, or to the end of the run")                        \
	F(FREED, "freed", BOOL, CHUNK, 0, SAME, "whether it was freed")                            \
	F(KEPT, "kept", BOOL, CHUNK, 0, SAME,                                                      \
	  "whether it was live at the end of the process or trace")                                \
	F(TEMPORARY, "temporary", BOOL, CHUNK, 0, SAME,                                            \
	  "whether it was freed before any further allocation of its thread")                      \
	F(OTHERS, "others", NUMBER, CHUNK, 0, MAX,                                                 \
	  "allocations of its thread between its allocation and its free; unknown if never freed") \
	F(CALL, "call", TEXT, CHUNK, 0, SAME,                                                      \
	  "allocating function: malloc, calloc, realloc, memalign, new, new[], pool")              \
	F(CLASS, "leak_kind", TEXT, CHUNK, NEEDS_SCAN, SAME,                                       \
	  "leak kind, from the leak scan: reachable, possible, indirect, lost, unknown")           \
	F(OWNER, "owner", TEXT, CHUNK, NEEDS_OWNERS, SAME,                                         \
	  "who holds it at the scan with most live bytes, the outermost first: 'cache (data of "   \
	  "app) → Session'; unknown if not live then")                                             \
	F(RETAINED, "retained", BYTES, CHUNK, NEEDS_OWNERS, MAX,                                   \
	  "bytes that would have been freed with it at that scan, its own included")               \
	F(THREAD, "thread", ID, THREAD, 0, SAME, "number of the thread that allocated it")         \
	F(TID, "tid", ID, THREAD, 0, SAME, "thread id (tid) of that thread")                       \
	F(THREAD_NAME, "thread_name", TEXT, THREAD, 0, SAME, "name of that thread")                \
	F(FREE_THREAD, "free_thread", ID, THREAD, 0, SAME, "number of the thread that freed it")   \
	F(TYPE, "type", TEXT, TYPE, NEEDS_TYPES, SAME, "type of its contents")                     \
	F(TEMPLATE, "template", TEXT, TYPE, NEEDS_TYPES, SAME,                                     \
	  "the type without template arguments: std::vector<*>")                                   \
	F(TYPE_SOURCE, "type_source", TEXT, TYPE, NEEDS_TYPES, SAME,                               \
	  "source of the type: declared, vtable, frame, index, dwarf, line")                       \
	F(CATEGORY, "category", TEXT, CHUNK, 0, SAME, "first matching category, see let category") \
	F(POINT, "point", ID, POINT, 0, SAME, "number of the allocation point")                    \
	F(FN, "fn", TEXT, POINT, 0, SAME,                                                          \
	  "allocating function: the innermost one outside the C and C++ libraries")                \
	F(FILE, "file", TEXT, POINT, 0, SAME, "source file of that function")                      \
	F(LINE, "line", ID, POINT, 0, SAME, "line of its call")                                    \
	F(MODULE, "module", TEXT, POINT, 0, SAME,                                                  \
	  "program or library that contains that "                                                 \
	  "function")                                                                              \
	F(STACK, "stack", TEXTS, POINT, 0, SAME, "functions of the allocating stack")              \
	F(STACK_FILE, "stack_file", TEXTS, POINT, 0, SAME, "their source files")                   \
	F(STACK_MODULE, "stack_module", TEXTS, POINT, 0, SAME,                                     \
	  "programs and libraries that "                                                           \
	  "contain them")                                                                          \
	F(DEPTH, "depth", NUMBER, POINT, 0, SAME, "frames of the stack, without inlined ones")     \
	F(FREE_FN, "free_fn", TEXT, FREE_STACK, 0, SAME, "freeing function, found as for fn")      \
	F(FREE_FILE, "free_file", TEXT, FREE_STACK, 0, SAME, "source file of that function")       \
	F(FREE_MODULE, "free_module", TEXT, FREE_STACK, 0, SAME,                                   \
	  "program or library that contains that function")                                        \
	F(FREE_STACK, "free_stack", TEXTS, FREE_STACK, 0, SAME, "functions of the freeing stack")  \
	F(READS, "reads", NUMBER, CHUNK, NEEDS_ACCESS, SUM,                                        \
	  "reads of it; unknown if none were seen and some may be hidden")                         \
	F(WRITES, "writes", NUMBER, CHUNK, NEEDS_ACCESS, SUM,                                      \
	  "writes to it; unknown if none were seen and some may be hidden")                        \
	F(READS_LOW, "reads_low", NUMBER, CHUNK, NEEDS_ACCESS, SUM,                                \
	  "reads at least: of an estimate, those that were seen")                                  \
	F(WRITES_LOW, "writes_low", NUMBER, CHUNK, NEEDS_ACCESS, SUM,                              \
	  "writes at least: of an estimate, those that were seen")                                 \
	F(COVER, "cover", SHARE, CHUNK, NEEDS_ACCESS, SAME,                                        \
	  "share of its bytes that was "                                                           \
	  "accessed")                                                                              \
	F(FIRST, "first", TIME, CHUNK, NEEDS_ACCESS, MIN,                                          \
	  "time of its first access; unknown if there was none")                                   \
	F(LAST, "last", TIME, CHUNK, NEEDS_ACCESS, MAX,                                            \
	  "time of its last access; unknown if there was none")                                    \
	F(MULTI, "multi", BOOL, CHUNK, NEEDS_ACCESS, SAME,                                         \
	  "whether several threads accessed it; unknown if some accesses were not seen")           \
	F(SEV, "sev", NUMBER, POINT, NEEDS_SCORES, SAME, "severity of its point, 1 (best) to 12")  \
	F(LIFETIME, "lifetime", SHARE, POINT, NEEDS_SCORES, SAME, "lifetime score of its point")   \
	F(USAGE, "usage", SHARE, POINT, NEEDS_SCORES | NEEDS_ACCESS, SAME,                         \
	  "usage score of its point")                                                              \
	F(USEFUL, "useful", SHARE, POINT, NEEDS_SCORES | NEEDS_ACCESS, SAME,                       \
	  "useful-lifetime score of its point")                                                    \
	F(POINT_CHUNKS, "point_chunks", NUMBER, POINT, 0, SAME, "allocations by its point")        \
	F(POINT_SIZE, "point_size", BYTES, POINT, 0, SAME, "bytes requested by its point")         \
	F(POINT_PEAK, "point_peak", BYTES, POINT, 0, SAME,                                         \
	  "highest live bytes of its point at any moment")                                         \
	F(POINT_KEPT, "point_kept", BYTES, POINT, 0, SAME,                                         \
	  "bytes of its point that were never freed")                                              \
	F(COLOR, "color", COLOR, CHUNK, 0, SAME, "colour set by a stage")

enum field {
#define QUERY_FIELD_ENUM(id, name, type, level, needs, join, meaning) F_##id,
	QUERY_FIELDS(QUERY_FIELD_ENUM)
#undef QUERY_FIELD_ENUM
		FIELDS
};

struct query_field {
	const char *name;
	enum field_type type;
	enum field_level level;
	u32 needs; /* NEEDS_* */
	enum field_join join;
	const char *meaning;
};

extern const struct query_field query_fields[FIELDS];

bool field_find(const char *name, enum field *field);

/* "bytes", "time", "text" … as errors and help say it. */
const char *field_type_name(enum field_type type);
const char *field_level_name(enum field_level level);

enum source_kind {
	SOURCE_ALL,
	SOURCE_AT,
	SOURCE_NAME,
	SOURCE_TRACE,
	SOURCE_UNION,
	SOURCE_DIFF,
	SOURCE_COMMON,
	SOURCES
};

enum stage_kind {
	STAGE_WHERE,
	STAGE_COLOR,
	STAGE_JOIN,
	STAGE_UNIFY,
	STAGE_SORT,
	STAGE_LIMIT,
	STAGE_AGG,
	STAGE_HIDE,
	STAGE_SHOW,
	STAGES
};

/* A kind of box of filter graphs. Sources come first, in the order of their enum, then stages. */
struct query_box {
	const char *kind, *group;
	u32 inputs, outputs;
	const char *arguments; /* names of its arguments, those that may be absent in [brackets] */
	const char *example;   /* as it stands in the text */
	const char *help;
};

enum {
	BOX_PASS = SOURCE_NAME,
	BOX_STAGES = SOURCES,
	BOX_SCORE = BOX_STAGES + STAGES,
	BOX_CATEGORY,
	BOXES
};
extern const struct query_box query_boxes[BOXES];

enum agg_kind { AGG_COUNT, AGG_SUM, AGG_AVG, AGG_MIN, AGG_MAX, AGG_PERCENTILE, AGGS };
extern const char *const agg_names[AGGS]; /* "p" for percentiles: p50, p99 */

extern const char *const view_names[]; /* NULL-terminated */

/* Colours with names, NULL-terminated; and those that `color by` and `color alternate` give. */
struct query_color {
	const char *name;
	u32 rgb;
};
extern const struct query_color color_names[];
bool color_find(const char *name, u32 *rgb);
enum { COLOR_CYCLE = 12 };
extern const u32 color_cycle[COLOR_CYCLE];

/* Words that may not be names of one's own. */
bool word_is_reserved(const char *word);

/* The word nearest to this one, as far as one can mean it; NULL if none is near. Call with each
 * word. */
struct nearest {
	const char *word, *best;
	u32 distance;
};
void nearest_try(struct nearest *self, const char *candidate);

/* Tables named "fields" and "boxes"; NULL if there is no memory. */
struct result *query_fields_result(void);
struct result *query_boxes_result(void);

#endif
