/* SPDX-License-Identifier: MIT
 * The options that commands share: one letter, one name, one text. A command's struct has fields of
 * these names: top, depth, where, image, symbols, no_index, debug_path, limits, format, no_pager.
 * That of a command on traces begins with a struct trace_args, which has them all; its rows are of
 * the type struct trace_args. */
#ifndef SHOW_CLI_TRACE_OPTIONS_H
#define SHOW_CLI_TRACE_OPTIONS_H

#include "show/cli/print.h"

#define NOT_GIVEN UINT64_MAX /* of a number that has no default of its own */

/* --wrapper and --no-fold: which functions are shown as part of their callers. */
struct folding {
	struct option_strings names;
	bool none;
};

struct trace_args {
	const char *where; /* the chunks that are looked at */
	const char *format, *limits, *debug_path;
	u64 top;
	u64 image; /* NOT_GIVEN = the last */
	u64 depth; /* see shown_stacks */
	bool symbols, no_index, no_pager;
	bool graphs; /* the pointers that scans found are wanted */
	bool chunks; /* so are single chunks: sums do not do */
	struct folding folding;
};

/* For `.trace = {TRACE_DEFAULTS, .top = 10}`. */
#define TRACE_DEFAULTS .image = NOT_GIVEN, .depth = NOT_GIVEN, .symbols = true

/* what: "points (10; 0 = all)" */
#define TOP_OPTION(type, what)                                                                     \
	OPTION(type, top, 'n', "top", OPTION_NUMBER, "N", "show the first N " what)

/* some: "default: 8 in text, all in json and csv" */
#define DEPTH_OPTION(type, some)                                                                   \
	OPTION(type, depth, 'd', "depth", OPTION_NUMBER, "N",                                      \
	       "show N frames of each stack (" some "; 0 = all)")

#define WHERE_OPTION(type)                                                                         \
	OPTION(type, where, 0, "where", OPTION_STRING, "QUERY",                                    \
	       "use only chunks that match QUERY, a query or a condition such as 'size >= 1KiB'; " \
	       "see heapwise-query(7)")

#define IMAGE_OPTION(type)                                                                         \
	OPTION(type, image, 0, "image", OPTION_NUMBER, "N",                                        \
	       "use program image N, counted from 0; each exec starts an image (default: the last)")

#define SYMBOLS_OPTION(type)                                                                       \
	OPTION(type, symbols, 0, "no-symbols", OPTION_CLEAR, NULL,                                 \
	       "do not look up function names that the trace lacks")

#define NO_INDEX_OPTION(type)                                                                      \
	OPTION(type, no_index, 0, "no-index", OPTION_SET, NULL,                                    \
	       "read the whole trace even if it has sums or an index")

#define DEBUG_PATH_OPTION(type)                                                                    \
	OPTION(type, debug_path, 0, "debug-path", OPTION_FOLDERS, "DIR[:DIR...]",                  \
	       "also look for separate debug files in these folders")

#define FORMAT_OPTION(type)                                                                        \
	OPTION(type, format, 'f', "format", OPTION_CHOICE, FORMAT_CHOICES,                         \
	       "output format (default text)")

#define LIMITS_OPTION(type)                                                                        \
	OPTION(type, limits, 0, "limits", OPTION_STRING, "FILE",                                   \
	       "read thresholds from FILE; 'heapwise help limits' prints the default ones")

#define NO_PAGER_OPTION(type)                                                                      \
	OPTION(type, no_pager, 0, "no-pager", OPTION_SET, NULL,                                    \
	       "do not show long output in a pager ($HEAPWISE_PAGER, $PAGER, less)")

#define FOLDING_OPTIONS                                                                            \
	OPTION(struct trace_args, folding.names, 0, "wrapper", OPTION_STRINGS, "NAME[,NAME...]",   \
	       "also fold these functions into their callers; * matches any characters"),          \
		OPTION(struct trace_args, folding.none, 0, "no-fold", OPTION_SET, NULL,            \
		       "do not fold allocator wrappers into their callers")

/* What every command takes that looks at one trace. */
#define TRACE_OPTIONS                                                                              \
	WHERE_OPTION(struct trace_args), IMAGE_OPTION(struct trace_args),                          \
		SYMBOLS_OPTION(struct trace_args), NO_INDEX_OPTION(struct trace_args),             \
		FORMAT_OPTION(struct trace_args), NO_PAGER_OPTION(struct trace_args)

#endif
