/* SPDX-License-Identifier: MIT
 * For the files index*.c only: the small parts of an index, everything but the pages of columns, as
 * one run of bytes. One description of the model serves writing and reading, so the two cannot
 * disagree. */
#ifndef STUDY_MODEL_INDEX_IO_H
#define STUDY_MODEL_INDEX_IO_H

#include "host/base/strbuf.h"
#include "study/model/columns.h"
#include "study/model/model.h"

/* Changes whenever the bytes of an index mean something else and no size says so. */
enum { INDEX_VERSION = 7, INDEX_PAGE = 4096 }; /* pages of columns begin at multiples of it */

/* A file that was changed is another one; that of another place or name is not. */
struct trace_identity {
	u64 bytes;
	u64 modified_s, modified_ns;
	u64 head, tail; /* checksums of its first and last bytes */
};

/* Where a table that is stored lies in the file. */
struct stored_place {
	u64 offset, bytes, tag; /* offset 0 = there is none */
};

struct index_writer {
	int fd;
	u64 at;           /* where the file ends by now */
	const char *path; /* for errors */
	u32 kind;         /* that was begun last */
	struct stored_place places[STORED_KINDS];
};

struct index_io {
	bool reading;
	struct strbuf out;  /* writing */
	const u8 *at, *end; /* reading */
	struct column_store *store;
	struct stored_place *places; /* writing: of all kinds */
	bool failed;                 /* there is not what should be there, or there is no memory */
};

/* Copies bytes to the file, or from it; what is missing is read as zeros. */
void io_bytes(struct index_io *io, void *bytes, u64 count);

/* A count of elements that follow: what was written, or 0 if so many bytes are not there. */
u64 io_count(struct index_io *io, u64 count, u64 size);

/* A terminated text; NULL stays NULL. */
void io_text(struct index_io *io, const char **text, struct arena *arena);

/* A bool that may have been read with other bytes: any other byte than 0 and 1 is a failure. */
void io_check_bool(struct index_io *io, bool *value);

/* All elements of a vector, which is empty before it is read. */
#define io_vec(io, vec)                                                                            \
	do {                                                                                       \
		u64 io_count_ = io_count((io), (vec)->count, sizeof *(vec)->data);                 \
		if (!vec_extend((vec), io_count_))                                                 \
			(io)->failed = true;                                                       \
		else                                                                               \
			io_bytes((io), (vec)->data, io_count_ * sizeof *(vec)->data);              \
	} while (0)

/* The whole model, and what model_load told of the file. */
void index_transfer(struct index_io *io, struct model *model, struct trace_info *info);

/* A number that differs between builds whose structures do. */
u64 index_layout(void);

/* Whether no number of the model leads beyond what it is a number of, whatever wrote it: then no
 * analysis can. Takes a pass over some columns of all chunks. */
bool index_is_sound(const struct model *model);

#endif
