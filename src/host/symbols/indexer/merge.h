/* SPDX-License-Identifier: MIT
 * The index under construction: files and sites of all units, each once. */
#ifndef HOST_SYMBOLS_INDEXER_MERGE_H
#define HOST_SYMBOLS_INDEXER_MERGE_H

#include "host/symbols/indexer/unit.h"

struct merge {
	struct names texts;
	VEC(struct type_file) files;
	struct map file_of_text; /* address of a kept path → number + 1 */
	VEC(struct type_site) sites;
	struct map site_of_hash; /* hash of a site → number + 1 */
	struct strbuf units;     /* their lines */
	bool failed;             /* no memory */
};

void merge_unit(struct merge *self, const struct unit *unit);
void merge_old_unit(struct merge *self, const struct type_index *old, const struct type_unit *unit);

/* The whole file. */
void merge_text(const struct merge *self, const char *compiler, struct strbuf *out);
void merge_release(struct merge *self);

/* Time and size of a file now; zeros if it is not there. */
void file_state(const char *path, struct type_file *file);

#endif
