/* SPDX-License-Identifier: MIT
 * Options of the limits that scores, inferences and findings go by; the same in all commands. */
#ifndef CLI_THRESHOLDS_H
#define CLI_THRESHOLDS_H

#include "analysis/thresholds.h"
#include "base/options.h"

/* Rows for a table of options; type has a struct thresholds named `field`. */
#define THRESHOLD_OPTIONS(type, field)                                                             \
	OPTION(type, field.group_gap, 0, "group-gap", OPTION_PERCENT, "PERCENT",                   \
	       "lifetime: chunks allocated further apart than this part of the run are of two "    \
	       "groups (0.1)"),                                                                    \
		OPTION(type, field.useless_bytes, 0, "useless-bytes", OPTION_PERCENT, "PERCENT",   \
		       "unused, write_only, read_only: from this part of a point's bytes on "      \
		       "(10)"),                                                                    \
		OPTION(type, field.short_us, 0, "short-us", OPTION_NUMBER, "N",                    \
		       "short: lives of at most N microseconds (1000)"),                           \
		OPTION(type, field.short_chunks, 0, "short-chunks", OPTION_PERCENT, "PERCENT",     \
		       "short: from this part of a point's chunks on (50)"),                       \
		OPTION(type, field.short_min, 0, "short-min", OPTION_NUMBER, "N",                  \
		       "short: points of at least N chunks (100)"),                                \
		OPTION(type, field.idle, 0, "idle", OPTION_PERCENT, "PERCENT",                     \
		       "early, late: idle for more than this part of its life (50)"),              \
		OPTION(type, field.idle_bytes, 0, "idle-bytes", OPTION_PERCENT, "PERCENT",         \
		       "early, late: from this part of a point's accessed bytes on (50)"),         \
		OPTION(type, field.growing_steps, 0, "growing-steps", OPTION_NUMBER, "N",          \
		       "growing: replaced by a larger one at least N times in a row (4)"),         \
		OPTION(type, field.coverage, 0, "coverage", OPTION_PERCENT, "PERCENT",             \
		       "coverage: less than this part of a chunk was accessed (50)"),              \
		OPTION(type, field.coverage_bytes, 0, "coverage-bytes", OPTION_PERCENT, "PERCENT", \
		       "coverage: from this part of a point's accessed bytes on (50)"),            \
		OPTION(type, field.temporary_slack, 0, "temporary-slack", OPTION_NUMBER, "N",      \
		       "temporary: the thread made at most N other allocations meanwhile (0)"),    \
		OPTION(type, field.temporary_chunks, 0, "temporary-chunks", OPTION_PERCENT,        \
		       "PERCENT", "temporary: from this part of a point's chunks on (50)"),        \
		OPTION(type, field.temporary_min, 0, "temporary-min", OPTION_NUMBER, "N",          \
		       "temporary: points of at least N chunks (100)"),                            \
		OPTION(type, field.top, 0, "top-share", OPTION_PERCENT, "PERCENT",                 \
		       "top_bytes, top_allocs: this part of the points (10)"),                     \
		OPTION(type, field.top_floor, 0, "top-floor", OPTION_PERCENT, "PERCENT",           \
		       "top_bytes, top_allocs: and from this part of the total on (0)"),           \
		OPTION(type, field.zero_min, 0, "zero-min", OPTION_NUMBER, "N",                    \
		       "zero_size: from N chunks of no bytes on (1)"),                             \
		OPTION(type, field.ratio, 0, "ratio", OPTION_NUMBER, "N",                          \
		       "read_write: from N reads per write, or writes per read, on (10)"),         \
		OPTION(type, field.threads, 0, "threads", OPTION_PERCENT, "PERCENT",               \
		       "shared, foreign_free: from this part of a point's chunks on (10)"),        \
		OPTION(type, field.kept, 0, "kept", OPTION_PERCENT, "PERCENT",                     \
		       "kept: more than this part of all that was kept (0.5)")

#endif
