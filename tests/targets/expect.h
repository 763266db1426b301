/* SPDX-License-Identifier: MIT
 * For target programs that say which events they expect, beside the call that causes each: a line
 * "kind address size" per event, which tests/run/events.sh compares with `heapwise trace dump`. Kinds are
 * those of record.h: malloc calloc realloc memalign new new_array free realloc_free delete …
 *
 * Lines go into a mapping of the file that HEAPWISE_EXPECT names, so that expecting allocates
 * nothing, needs no descriptor, changes no errno, and works in signal handlers and after SIGKILL.
 * Without that variable the lines are counted only, and the program runs the same.
 *
 * All events between expect_begin and expect_end must have been expected, if they are of the size
 * that the program uses; see events.sh. */
#ifndef TARGETS_EXPECT_H
#define TARGETS_EXPECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* May be called in a constructor, and more than once: the first opens. */
void expect_begin(void);
void expect_end(void);

/* Returns memory, having expected that an event of this kind gave it; a NULL expects nothing. */
void *expect_alloc(const char *kind, void *memory, size_t size);

/* To be called just before memory is freed; size is that of its allocation. */
void expect_free(const char *kind, const void *memory, size_t size);

/* A realloc of old succeeded: one free and one allocation. */
void *expect_realloc(const void *old, size_t old_size, void *memory, size_t size);

/* Ends the program with a message unless held: the program itself was disturbed. */
void expect_true(int held, const char *what);

/* "name value" for the summary that the harness compares with `report --format json`. */
void expect_total(const char *name, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
