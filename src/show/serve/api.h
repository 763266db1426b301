/* SPDX-License-Identifier: MIT
 * The API of `heapwise serve`: traces, and a request on its way through a handler. docs/API.md has
 * every endpoint. */
#ifndef SHOW_SERVE_API_H
#define SHOW_SERVE_API_H

#include "host/base/jsontree.h"
#include "show/render/fields.h"
#include "show/serve/answer_cache.h"
#include "show/serve/editor.h"
#include "show/serve/feed.h"
#include "show/serve/part_cache.h"
#include "show/serve/renewal.h"
#include "show/serve/router.h"
#include "show/serve/site.h"
#include "show/serve/uploads.h"
#include "study/layout/folders.h"
#include "study/layout/scope.h"

enum { API_TRACES_MAX = 16, API_BODY_MAX = 256 << 10, CALL_TRACES = 2 };

struct api {
	struct study *traces[API_TRACES_MAX];
	/* Of a trace that is still being written; what it says comes from there then. NULL = it is
	 * recorded. */
	struct renewal *renewals[API_TRACES_MAX];
	u32 count;         /* grows by snapshots */
	struct feed *feed; /* a program that runs, whose trace is the first; NULL = none */
	const char *version;
	const char *graphs_folder; /* of stored queries; NULL = there is none */
	/* whose traces may be opened, without links in it; NULL = none */
	const char *folder;
	struct uploads uploads;                      /* traces that a browser sent */
	struct editor editor;                        /* that shows source lines */
	struct folders sources;                      /* whose files may be shown */
	void (*on_index)(const struct study *trace); /* a load wrote an index; may be NULL */
	/* Answers that take time are made a few at a time; the others wait. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	u32 running, running_max;
	u32 loads; /* threads that load a trace */
	struct answer_cache cache;
	struct part_cache parts;
};

/* All zero but what is the caller's: traces, renewals, count, feed, version, graphs_folder, editor,
 * on_index, sources (which are given back by api_release). */
void api_init(struct api *self);
/* When no request is being answered any more. Traces and renewals are the caller's. */
void api_release(struct api *self);

/* Makes what most views begin with, and the answers that take longest, before they are asked
 * for. */
void api_warm(struct api *self, u32 trace);

/* study_load, and on_index if it is due. */
int api_load(struct api *self, struct study *trace, struct err *err);

/* Whether there is a place for one more trace; ERR_USAGE if not. */
int api_check_room(const struct api *self, struct err *err);
/* One more trace, while others are looked at; it is taken over unless there are too many. */
bool api_add_trace(struct api *self, struct study *trace);
/* The same with one that is yet to be loaded, which a thread of its own does. ERR_USAGE: there are
 * too many. */
int api_open_trace(struct api *self, struct study *trace, struct err *err);
/* Ends those threads, and waits for them, when no request is being answered any more: before that
 * no trace may be freed. */
void api_end_loads(struct api *self);

/* How far a trace is loaded. */
struct study_progress api_progress(const struct api *self, u32 slot);

/* What the server serves. */
struct site api_site(struct api *self);

extern const struct route api_routes[];

/* ---- for handlers ---- */

struct call {
	struct api *api;
	const struct request *request;
	const struct route_match *match;
	struct answer *answer;
	struct study *trace; /* with ROUTE_TRACE; with ROUTE_PART that of the selection */
	struct study *whole; /* that was asked about; the trace itself unless it is a part */
	u32 slot;            /* of the trace that was asked about */
	u64 epoch;           /* which copy of a trace that grows; 0 = it does not */
	struct study *held[CALL_TRACES]; /* copies that are given back at the end */
	u32 held_slots[CALL_TRACES], held_count;
	struct view_scope scope; /* with ROUTE_SCOPE and ROUTE_PART: of the whole */
	/* The trace that it is compared with, see call_base; base.trace NULL = with none. */
	struct view_scope base;
	struct study *base_part; /* see call_base_part */
	u64 at_ns;               /* parameter `at`; the end of the run without */
	bool has_at;
	u64 start_ns;
	struct json json; /* while the answer is written */
	u64 write_start_ns;
	bool has_rows_total; /* of a table of which a page is sent; see call_rows_total */
	u64 rows_total;
	bool truncated;        /* reply_result leaves something out */
	struct result *holder; /* of texts and stacks, which live as long as the call */
};

/* 400 that names the parameter and says what it wants. Returns false. */
bool call_bad(struct call *call, const char *parameter, const char *wants);

/* The values of parameters; false if a 400 was answered. */
bool call_number(struct call *call, const char *name, u64 low, u64 high, u64 *number);
bool call_u32(struct call *call, const char *name, u32 low, u32 high, u32 *number);
bool call_real(struct call *call, const char *name, const double limits[2], const char *wants,
	       double *number);
bool call_time(struct call *call, const char *name, u64 *ns);
bool call_address(struct call *call, const char *name, u64 *address);
/* The look at resident memory nearest to at; without at the one with most. NULL = there is none. */
const struct model_memory *call_look(const struct call *call);
bool call_bool(struct call *call, const char *name, bool *value);
/* Which of the words it is: "down, up or pivot". */
bool call_word(struct call *call, const char *name, const char *words, u32 *index);
/* What `parse` makes of the word; wants: all that it knows. */
#define call_choice(call, name, parse, value, wants)                                               \
	(!call_text(call, name) || parse(call_text(call, name), value) ||                          \
	 call_bad(call, name, wants))
const char *call_text(const struct call *call, const char *name); /* NULL = missing or empty */

/* The body as JSON, which lives as long as the call; NULL if it is none. */
const struct json_node *call_json(struct call *call, struct err *err);
/* The same; NULL if a 400 was answered. */
const struct json_node *call_body(struct call *call);

/* The number that a segment of the path is; 404 if it is none below `count`. */
bool call_index(struct call *call, u32 segment, const char *what, u64 count, u64 *index);

/* The number of the trace of that id, or else of the first of that file name; false if there is
 * none. */
bool call_trace_slot(const struct call *call, const char *id, u32 *slot);

/* The trace, or the copy of it that is newest. */
struct study *call_trace(struct call *call, u32 slot);

/* Whether call->trace is loaded; if not, that is answered. */
bool call_trace_is_ready(struct call *call);

/* Sets call->base to the trace that the parameter `base` names, with the same selection as the
 * call's, if there is such a parameter. False if a refusal was answered. */
bool call_base(struct call *call);
/* The same; call->base_part is a trace that has nothing but that selection. */
bool call_base_part(struct call *call);
static inline bool call_is_compared(const struct call *call) { return call->base.trace; }

/* Finds the colours of the query for call->scope; false if a refusal was answered. */
bool call_colors(struct call *call);

/* Answers a failure of ours or of the query; a client that has gone gets nothing anyway. */
void call_fail(struct call *call, const struct err *err);
void call_fail_query(struct call *call, const struct query_error *error);

/* The answer also says how many rows there are in all. */
static inline void call_rows_total(struct call *call, u64 rows)
{
	call->has_rows_total = true;
	call->rows_total = rows;
}

/* {"v", "epoch", "took_us", "matched", "total", "truncated", …}: the fields follow, one of which is
 * "data". truncated: something is left out of it. */
void reply_fields(struct call *call, bool truncated, const struct named_value *fields, u64 count);

/* The same with an object, or with a list of items, as data. */
#define reply_object(call, truncated, ...)                                                         \
	reply_fields(call, truncated, MEMBERS(OBJECT("data", __VA_ARGS__)))
#define reply_list(call, truncated, count, put, list)                                              \
	reply_fields(call, truncated, MEMBERS(LIST("data", count, put, list)))

/* The same with a result; takes the result over. NULL: err says why. */
void reply_result(struct call *call, struct result *result, const struct err *err);

/* Anything else, as it is; takes the text over. */
void reply_text(struct call *call, const char *type, char *text, size_t bytes);

/* ---- columns ---- */

enum column_type { COLUMN_U8, COLUMN_U16, COLUMN_U32, COLUMN_F32, COLUMN_F64 };

struct reply_column {
	const char *name;
	enum column_type type;
	double *values; /* of each row; what is no finite number is null in JSON */
};

/* Whether the client wants columns; a `format` that is neither is found later. */
bool call_wants_columns(const struct call *call);

/* A table of numbers, of which some are indexes of strings. */
struct reply_columns {
	const struct reply_column *columns;
	u32 column_count;
	u64 rows;
	/* The values of a row, one for each column. */
	void (*fill)(struct reply_columns *self, u64 row, double *values);
	const void *from; /* for fill */
	bool truncated;
	/* set by reply_columns_send */
	const struct named_value *head;
	u64 head_count;
	const char **strings;
	u32 string_count;
	struct map by_text; /* address of a string → index + 1 */
	struct arena arena;
};

/* Index of a string, which must live until all is sent; equal addresses have the same. */
u32 reply_string(struct reply_columns *self, const char *text);

/* As JSON or, if that was asked for, in the binary form, with these fields before the columns. */
void reply_columns_send(struct call *call, struct reply_columns *self,
			const struct named_value *head, u64 head_count);
#define COLUMNS(columns_)                                                                          \
	.columns = (columns_), .column_count = sizeof(columns_) / sizeof((columns_)[0])

/* ---- fields that several answers have ---- */

/* An object whose members live as long as the call, for functions that return one. */
struct named_value field_kept(const char *name, struct call *call,
			      const struct named_value *members, u64 count);
#define KEPT(name, call, ...) field_kept(name, call, MEMBERS(__VA_ARGS__))

/* A stack as a list of frames, innermost first; it lives as long as the call. */
struct named_value field_stack(const char *name, struct call *call, struct frame_id frame);

/* The text, which lives as long as the call; null if it is empty. Takes it over. */
struct named_value field_words(const char *name, struct call *call, struct strbuf *text);

/* A list of findings: what, where, how much, the repair, and the chunks as a condition of queries.
 * Needs study_scores of the call's trace. */
struct finding_list {
	struct call *call;
	const struct finding *rows;
};
put_item put_finding;

/* Bytes as base64; null if there is no memory. */
struct named_value field_base64(const char *name, struct call *call, const u8 *bytes, u64 count);

/* null for what is not finite; whole numbers are written as such. */
struct named_value field_whole(const char *name, double value);
put_item put_real_item;
/* Ends of the bins of a time_axis. */
put_item put_axis_end;
#define REALS(name, values, count) field_list(name, count, put_real_item, values)

/* The handlers, one file per subject. */
typedef void api_handler(struct call *call);
api_handler api_status, api_trace, api_suggest, api_stack, api_page, api_asset, api_list, api_flame,
	api_flame_search, api_timeline, api_overview, api_points, api_point, api_point_timeline,
	api_report, api_mprof_leaks, api_mprof_bins, api_mprof_direct, api_mprof_graph,
	api_mprof_text, api_scores, api_findings, api_leaks, api_resident, api_resident_looks,
	api_types, api_fields, api_owners, api_owners_path, api_chunks, api_chunk, api_memory,
	api_memory_regions, api_memory_at, api_memory_page, api_threads, api_callgraph, api_callers,
	api_callees, api_files, api_source, api_excessive, api_emad, api_emad_tree, api_query_check,
	api_query_graph, api_query_compile, api_query_boxes, api_graphs, api_graph_get,
	api_graph_put, api_graph_delete, api_notes, api_note_put, api_entries, api_query_counts,
	api_compare, api_open, api_source_allow, api_traces, api_upload, api_live, api_live_history,
	api_live_suspects, api_live_top, api_live_config, api_live_configure, api_live_snapshot;

#endif
