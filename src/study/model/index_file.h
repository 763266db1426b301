/* SPDX-License-Identifier: MIT
 * For the files index*.c only: where indexes are, what they begin with, and which trace they belong
 * to. */
#ifndef STUDY_MODEL_INDEX_FILE_H
#define STUDY_MODEL_INDEX_FILE_H

#include "study/model/index_io.h"

#define INDEX_MAGIC 0x0a1a78646e495748ull /* "HWIndx\x1a\n" */

struct index_header {
	u64 magic;
	u64 layout; /* index_layout() */
	u64 file_bytes;
	u64 small_offset, small_bytes, small_checksum;
	struct trace_identity trace;
	u64 image;         /* number in the file */
	u64 is_last_image; /* 1 or 0 */
	u64 checksum;      /* of all before */
};

/* False if the file cannot be read. */
bool index_identify(const char *path, struct trace_identity *identity);

void index_header_seal(struct index_header *header);

/* An index that is open for reading, and fits the trace and the image that are asked for; -1 if
 * this is none. */
int index_open_fresh(const char *index_path, const struct trace_identity *trace, int image,
		     struct index_header *header);

/* Names of an image's index: image -1 is the last. place 0 is beside the trace, place 1 in the
 * cache folder; empty if there is no such place. */
enum { INDEX_PLACES = 2 };
void index_path(const char *path, int image, u32 place, struct strbuf *out);

#endif
