/* SPDX-License-Identifier: MIT
 * Options of the limits that scores, inferences and findings go by; the same in all commands. */
#ifndef SHOW_CLI_THRESHOLDS_H
#define SHOW_CLI_THRESHOLDS_H

#include "study/analysis/memoro/thresholds.h"

/* A share of the point's chunks or bytes, or a number. */
#define SHARE_LIMIT(field, name, help) OPT_LIMIT(thresholds.field, name, PERCENT, "PERCENT", help)
#define COUNT_LIMIT(field, name, help) OPT_LIMIT(thresholds.field, name, NUMBER, "N", help)

/* Rows for a table of options; ARGS has a struct thresholds of that name. */
/* clang-format off */
#define THRESHOLD_OPTIONS                                                                          \
	SHARE_LIMIT(group_gap, "group-gap",                                                        \
		"lifetime: chunks allocated further apart than this percentage of the run "        \
		"belong to different groups (default 0.1)"),                                       \
	SHARE_LIMIT(useless_bytes, "useless-bytes",                                                \
		"unused, write_only, read_only: at least this percentage of the point's "          \
		"bytes (default 10)"),                                                             \
	COUNT_LIMIT(short_us, "short-us",                                                          \
		"short: lives of at most N microseconds (default 1000)"),                          \
	SHARE_LIMIT(short_chunks, "short-chunks",                                                  \
		"short: at least this percentage of the point's chunks (default 50)"),             \
	COUNT_LIMIT(short_min, "short-min",                                                        \
		"short: points with at least N chunks (default 100)"),                             \
	SHARE_LIMIT(idle, "idle",                                                                  \
		"early, late: idle for more than this percentage of its life (default 50)"),       \
	SHARE_LIMIT(idle_bytes, "idle-bytes",                                                      \
		"early, late: at least this percentage of the point's accessed bytes "             \
		"(default 50)"),                                                                   \
	COUNT_LIMIT(growing_steps, "growing-steps",                                                \
		"growing: replaced by a larger chunk at least N times in a row (default 4)"),      \
	SHARE_LIMIT(coverage, "coverage",                                                          \
		"coverage: less than this percentage of a chunk was accessed (default 50)"),       \
	SHARE_LIMIT(coverage_bytes, "coverage-bytes",                                              \
		"coverage: at least this percentage of the point's accessed bytes (default "       \
		"50)"),                                                                            \
	COUNT_LIMIT(temporary_slack, "temporary-slack",                                            \
		"temporary: at most N other allocations of the thread during its life "            \
		"(default 0)"),                                                                    \
	SHARE_LIMIT(temporary_chunks, "temporary-chunks",                                          \
		"temporary: at least this percentage of the point's chunks (default 50)"),         \
	COUNT_LIMIT(temporary_min, "temporary-min",                                                \
		"temporary: points with at least N chunks (default 100)"),                         \
	SHARE_LIMIT(top, "top-share",                                                              \
		"top_bytes, top_allocs: this percentage of the points (default 10)"),              \
	SHARE_LIMIT(top_floor, "top-floor",                                                        \
		"top_bytes, top_allocs: only points with at least this percentage of the "         \
		"total (default 0)"),                                                              \
	COUNT_LIMIT(zero_min, "zero-min", "zero_size: at least N chunks of 0 bytes (default 1)"),  \
	COUNT_LIMIT(ratio, "ratio",                                                                \
		"read_write: at least N reads per write, or writes per read (default 10)"),        \
	SHARE_LIMIT(threads, "threads",                                                            \
		"shared, foreign_free: at least this percentage of the point's chunks "            \
		"(default 10)"),                                                                   \
	SHARE_LIMIT(kept, "kept",                                                                  \
		"kept: more than this percentage of all kept bytes (default 0.5)")
/* clang-format on */

#endif
