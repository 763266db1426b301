/* SPDX-License-Identifier: MIT
 * Columns and cells that the tables of mprof share. Texts are owned by the result, which has failed
 * if there is no memory. */
#ifndef STUDY_ANALYSIS_MPROF_TEXT_H
#define STUDY_ANALYSIS_MPROF_TEXT_H

#include "study/analysis/mprof/calls.h"

enum mprof_verbosity { MPROF_VERBOSE, MPROF_NORMAL, MPROF_TERSE };

/* Whether a part is large enough for its row: more than 0, 0.5 or 1 % of the whole. Verbose shows
 * everything. */
bool mprof_is_shown(enum mprof_verbosity verbosity, u64 part, u64 whole);

/* A number; its share; the shares of the four sizes. */
#define NUMBER_COLUMN(name_, label_, type_, ...)                                                   \
	COLUMN(name_, label_, type_, __VA_ARGS__, .look = LOOK_PLAIN)
#define SHARE_COLUMN(name_, meaning_)                                                              \
	COLUMN(name_, "(%)", VALUE_SHARE, meaning_, .look = LOOK_BRACKETS, .joint = " ")
#define SIZE_COLUMN(name_, label_, joint_, over_, meaning_)                                        \
	COLUMN(name_, label_, VALUE_SHARE, meaning_, .look = LOOK_PERCENT, .joint = (joint_),      \
	       .over = (over_))
#define SIZE_COLUMNS(prefix_, over_, of_)                                                          \
	SIZE_COLUMN(prefix_ "small", "s", " | ", over_, of_ "chunks up to 32 bytes"),              \
		SIZE_COLUMN(prefix_ "medium", "m", " ", over_, of_ "chunks of 33 to 256 bytes"),   \
		SIZE_COLUMN(prefix_ "large", "l", " ", over_, of_ "chunks of 257 to 2048 bytes"),  \
		SIZE_COLUMN(prefix_ "extra_large", "x", " ", over_, of_ "larger chunks")

/* part / whole, unknown if whole is 0. */
struct value mprof_share(u64 part, u64 whole);
#define SIZE_SHARES(sum, whole)                                                                    \
	mprof_share((sum)->sizes[0], whole), mprof_share((sum)->sizes[1], whole),                  \
		mprof_share((sum)->sizes[2], whole), mprof_share((sum)->sizes[3], whole)

/* A share in the row of totals, where it says nothing. */
static inline struct value mprof_whole(bool total, struct value share)
{
	return total ? value_shown(share, "") : share;
}

enum { MPROF_NAME = 60 };

/* A function's name, of which text shows so many columns, without what makes C++ names unreadable,
 * and then `after`. */
struct value mprof_name(struct result *result, const char *name, u32 columns, const char *after);

/* Path of the file that the function is in. */
struct value mprof_module(struct result *result, const struct mprof_calls *calls,
			  const struct mprof_function *function);

#endif
