/* SPDX-License-Identifier: MIT
 * Options of the limits that scores, inferences and findings go by; the same in all commands. */
#ifndef SHOW_CLI_THRESHOLDS_H
#define SHOW_CLI_THRESHOLDS_H

#include "study/analysis/memoro/thresholds.h"
#include "host/base/options.h"

/* Rows for a table of options; type has a struct thresholds named `field`. */
#define THRESHOLD_OPTIONS(type, field)                                                             \
	OPTION_LIMIT(                                                                              \
		type, field.group_gap, "group-gap", OPTION_PERCENT, "PERCENT",                     \
		"lifetime: chunks allocated further apart than this percentage of the run belong " \
		"to different groups (default 0.1)"),                                              \
		OPTION_LIMIT(                                                                      \
			type, field.useless_bytes, "useless-bytes", OPTION_PERCENT, "PERCENT",     \
			"unused, write_only, read_only: at least this percentage of the point's "  \
			"bytes (default 10)"),                                                     \
		OPTION_LIMIT(type, field.short_us, "short-us", OPTION_NUMBER, "N",                 \
			     "short: lives of at most N microseconds (default 1000)"),             \
		OPTION_LIMIT(                                                                      \
			type, field.short_chunks, "short-chunks", OPTION_PERCENT, "PERCENT",       \
			"short: at least this percentage of the point's chunks (default 50)"),     \
		OPTION_LIMIT(type, field.short_min, "short-min", OPTION_NUMBER, "N",               \
			     "short: points with at least N chunks (default 100)"),                \
		OPTION_LIMIT(                                                                      \
			type, field.idle, "idle", OPTION_PERCENT, "PERCENT",                       \
			"early, late: idle for more than this percentage of its life (default "    \
			"50)"),                                                                    \
		OPTION_LIMIT(                                                                      \
			type, field.idle_bytes, "idle-bytes", OPTION_PERCENT, "PERCENT",           \
			"early, late: at least this percentage of the point's accessed bytes "     \
			"(default 50)"),                                                           \
		OPTION_LIMIT(                                                                      \
			type, field.growing_steps, "growing-steps", OPTION_NUMBER, "N",            \
			"growing: replaced by a larger chunk at least N times in a row (default "  \
			"4)"),                                                                     \
		OPTION_LIMIT(                                                                      \
			type, field.coverage, "coverage", OPTION_PERCENT, "PERCENT",               \
			"coverage: less than this percentage of a chunk was accessed (default "    \
			"50)"),                                                                    \
		OPTION_LIMIT(type, field.coverage_bytes, "coverage-bytes", OPTION_PERCENT,         \
			     "PERCENT",                                                            \
			     "coverage: at least this percentage of the point's accessed bytes "   \
			     "(default 50)"),                                                      \
		OPTION_LIMIT(                                                                      \
			type, field.temporary_slack, "temporary-slack", OPTION_NUMBER, "N",        \
			"temporary: at most N other allocations of the thread during its life "    \
			"(default 0)"),                                                            \
		OPTION_LIMIT(type, field.temporary_chunks, "temporary-chunks", OPTION_PERCENT,     \
			     "PERCENT",                                                            \
			     "temporary: at least this percentage of the point's chunks "          \
			     "(default 50)"),                                                      \
		OPTION_LIMIT(type, field.temporary_min, "temporary-min", OPTION_NUMBER, "N",       \
			     "temporary: points with at least N chunks (default 100)"),            \
		OPTION_LIMIT(type, field.top, "top-share", OPTION_PERCENT, "PERCENT",              \
			     "top_bytes, top_allocs: this percentage of the points (default 10)"), \
		OPTION_LIMIT(                                                                      \
			type, field.top_floor, "top-floor", OPTION_PERCENT, "PERCENT",             \
			"top_bytes, top_allocs: only points with at least this percentage of the " \
			"total (default 0)"),                                                      \
		OPTION_LIMIT(type, field.zero_min, "zero-min", OPTION_NUMBER, "N",                 \
			     "zero_size: at least N chunks of 0 bytes (default 1)"),               \
		OPTION_LIMIT(                                                                      \
			type, field.ratio, "ratio", OPTION_NUMBER, "N",                            \
			"read_write: at least N reads per write, or writes per read (default "     \
			"10)"),                                                                    \
		OPTION_LIMIT(                                                                      \
			type, field.threads, "threads", OPTION_PERCENT, "PERCENT",                 \
			"shared, foreign_free: at least this percentage of the point's chunks "    \
			"(default 10)"),                                                           \
		OPTION_LIMIT(type, field.kept, "kept", OPTION_PERCENT, "PERCENT",                  \
			     "kept: more than this percentage of all kept bytes (default 0.5)")

#endif
