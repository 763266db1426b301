/* SPDX-License-Identifier: MIT
 * Pages of columns that lie in a file, which is mapped: while a trace is read they are made there,
 * so that a model may be larger than memory, and later they are read from there (see
 * study/model/index.h).
 *
 * Memory that is mapped counts as the process's own. Whatever can be had from the file again is let
 * go when there is much of it; the kernel keeps it as long as nobody needs the room. */
#ifndef STUDY_MODEL_COLUMNS_H
#define STUDY_MODEL_COLUMNS_H

#include "format/types.h"

struct column_store;

/* For filling: pages are made in the file from `start` on. fd stays the caller's. NULL without
 * memory. */
struct column_store *column_store_new(int fd, u64 start);

/* A page of zeros in the store, or, if there is none (NULL), in memory of its own, for free().
 * `number`: how many came before it in its table. NULL if there is no room for it. */
void *column_page_new(struct column_store *store, u64 bytes, u64 number);

/* A page of zeros; NULL if there is no room on the disk, no memory, or the file is only read. What
 * failed stays known: column_store_failure. */
void *column_store_page(struct column_store *self, u64 bytes);
int column_store_failure(const struct column_store *self); /* errno, or 0 */

/* Where a page that was made lies in the file, and where all pages end. */
u64 column_store_offset(const struct column_store *self, const void *page);
u64 column_store_end(const struct column_store *self);

/* All pages are to be in the file; 0 or the errno that it failed with. */
int column_store_finish(struct column_store *self);

/* Forgets all pages: the file is empty again from `start` on. */
void column_store_reset(struct column_store *self);

/* Between any two uses of pages that are being filled: lets go if much is in memory. */
void column_store_trim(struct column_store *self);

/* For reading: the whole file. NULL and errno if it cannot be mapped. */
struct column_store *column_store_map(int fd, u64 bytes);

/* Bytes of a file that is read; NULL if they are not all inside. */
const void *column_store_at(const struct column_store *self, u64 offset, u64 bytes);

/* A copy of bytes that begin at a page of the machine, to be written to: the file is mapped once
 * more, so that only what is changed takes memory. NULL if the file cannot be mapped, or is being
 * filled. For munmap. */
void *column_store_copy(const struct column_store *self, const void *at, u64 bytes);

/* These bytes of a page are not needed soon. */
void column_store_let_go(const struct column_store *self, const void *page, u64 bytes);

/* The same for all pages, but for what may stay; of a store that was filled and finished nothing
 * does. */
void column_store_rest(const struct column_store *self);

/* The same for bytes that are not needed again at all. */
void column_store_forget(const struct column_store *self, const void *at, u64 bytes);

/* Unmaps all pages. */
void column_store_free(struct column_store *self);

#endif
