/* SPDX-License-Identifier: MIT
 * Options of the limits that scores, inferences and findings go by; the same in all commands. */
#ifndef CLI_THRESHOLDS_H
#define CLI_THRESHOLDS_H

#include "analysis/thresholds.h"
#include "base/options.h"

/* Rows for a table of options; type has a struct thresholds named `field`. */
#define THRESHOLD_OPTIONS(type, field)                                                             \
	OPTION_LIMIT(type, field.group_gap, "group-gap", OPTION_PERCENT, "PERCENT",                   \
	       "lifetime: chunks allocated further apart than this part of the run are of two "    \
	       "groups (0.1)"),                                                                    \
		OPTION_LIMIT(type, field.useless_bytes, "useless-bytes", OPTION_PERCENT, "PERCENT",   \
		       "unused, write_only, read_only: from this part of a point's bytes on "      \
		       "(10)"),                                                                    \
		OPTION_LIMIT(type, field.short_us, "short-us", OPTION_NUMBER, "N",                    \
		       "short: lives of at most N microseconds (1000)"),                           \
		OPTION_LIMIT(type, field.short_chunks, "short-chunks", OPTION_PERCENT, "PERCENT",     \
		       "short: from this part of a point's chunks on (50)"),                       \
		OPTION_LIMIT(type, field.short_min, "short-min", OPTION_NUMBER, "N",                  \
		       "short: points of at least N chunks (100)"),                                \
		OPTION_LIMIT(type, field.idle, "idle", OPTION_PERCENT, "PERCENT",                     \
		       "early, late: idle for more than this part of its life (50)"),              \
		OPTION_LIMIT(type, field.idle_bytes, "idle-bytes", OPTION_PERCENT, "PERCENT",         \
		       "early, late: from this part of a point's accessed bytes on (50)"),         \
		OPTION_LIMIT(type, field.growing_steps, "growing-steps", OPTION_NUMBER, "N",          \
		       "growing: replaced by a larger one at least N times in a row (4)"),         \
		OPTION_LIMIT(type, field.coverage, "coverage", OPTION_PERCENT, "PERCENT",             \
		       "coverage: less than this part of a chunk was accessed (50)"),              \
		OPTION_LIMIT(type, field.coverage_bytes, "coverage-bytes", OPTION_PERCENT, "PERCENT", \
		       "coverage: from this part of a point's accessed bytes on (50)"),            \
		OPTION_LIMIT(type, field.temporary_slack, "temporary-slack", OPTION_NUMBER, "N",      \
		       "temporary: the thread made at most N other allocations meanwhile (0)"),    \
		OPTION_LIMIT(type, field.temporary_chunks, "temporary-chunks", OPTION_PERCENT,        \
		       "PERCENT", "temporary: from this part of a point's chunks on (50)"),        \
		OPTION_LIMIT(type, field.temporary_min, "temporary-min", OPTION_NUMBER, "N",          \
		       "temporary: points of at least N chunks (100)"),                            \
		OPTION_LIMIT(type, field.top, "top-share", OPTION_PERCENT, "PERCENT",                 \
		       "top_bytes, top_allocs: this part of the points (10)"),                     \
		OPTION_LIMIT(type, field.top_floor, "top-floor", OPTION_PERCENT, "PERCENT",           \
		       "top_bytes, top_allocs: and from this part of the total on (0)"),           \
		OPTION_LIMIT(type, field.zero_min, "zero-min", OPTION_NUMBER, "N",                    \
		       "zero_size: from N chunks of no bytes on (1)"),                             \
		OPTION_LIMIT(type, field.ratio, "ratio", OPTION_NUMBER, "N",                          \
		       "read_write: from N reads per write, or writes per read, on (10)"),         \
		OPTION_LIMIT(type, field.threads, "threads", OPTION_PERCENT, "PERCENT",               \
		       "shared, foreign_free: from this part of a point's chunks on (10)"),        \
		OPTION_LIMIT(type, field.kept, "kept", OPTION_PERCENT, "PERCENT",                     \
		       "kept: more than this part of all that was kept (0.5)")

#endif
