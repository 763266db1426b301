/* SPDX-License-Identifier: MIT
 * Writes a trace without a recorder, for interpreters, managed runtimes and simulators that know their own objects.
 * Link with -lheapwise-writer; heapwise-writer(3) describes it in detail.
 *
 *	struct heapwise_writer *writer = heapwise_writer_open("objects.hwt", "my-interpreter", 0);
 *	uint32_t function = heapwise_writer_function(writer, "make_rows", "rows.lua", 12);
 *	uint32_t stack = heapwise_writer_stack(writer, 0, function);
 *	uint32_t table = heapwise_writer_type(writer, "table");
 *
 *	heapwise_writer_alloc(writer, (uintptr_t)object, 56, stack, table);
 *	heapwise_writer_free(writer, (uintptr_t)object, stack);
 *	if (heapwise_writer_close(writer) < 0)
 *		perror("objects.hwt");
 *
 * All functions except open and close can be called from any thread at any time; calls are serialised. They allocate
 * memory, so a runtime must not call them from inside an allocator that they use themselves. After a fork only one of
 * the two processes may write. To record objects beside malloc's blocks in a trace of 'heapwise run', use
 * heapwise_alloc of heapwise/heapwise.h instead. */
#ifndef HEAPWISE_WRITER_H
#define HEAPWISE_WRITER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPWISE_WRITER_API __attribute__((visibility("default")))

struct heapwise_writer;

enum {
	HEAPWISE_WRITER_ACCESSES = 1, /* every access is reported with heapwise_writer_access; without it none is expected */
};

/* Creates or replaces the trace. `program` is shown as the name of the program. Returns NULL and sets errno on failure. */
HEAPWISE_WRITER_API struct heapwise_writer *heapwise_writer_open(const char *path, const char *program,
								 int flags);

/* A function of the language, with the place where it is defined or called; file can be NULL and line 0. The same
 * arguments return the same number. Returns 0 if out of memory. */
HEAPWISE_WRITER_API uint32_t heapwise_writer_function(struct heapwise_writer *writer, const char *name,
						      const char *file, uint32_t line);

/* The stack in which `function` was called from the stack `caller`; 0 is the empty stack. */
HEAPWISE_WRITER_API uint32_t heapwise_writer_stack(struct heapwise_writer *writer, uint32_t caller,
						   uint32_t function);

/* A type or class by name. Returns 0, which means no type, if out of memory. */
HEAPWISE_WRITER_API uint32_t heapwise_writer_type(struct heapwise_writer *writer, const char *name);

/* Records an object. The address can be any number except 0 that no other live object has. type 0 is unknown. Returns 0,
 * or -1 and sets errno (EINVAL, EEXIST, or the error of a failed write). */
HEAPWISE_WRITER_API int heapwise_writer_alloc(struct heapwise_writer *writer, uint64_t address, uint64_t size,
					      uint32_t stack, uint32_t type);

/* Records that an object was freed or collected, with the stack that did so. Returns -1 and sets ENOENT if there is no
 * such object; these calls are counted, and the trace reports them. */
HEAPWISE_WRITER_API int heapwise_writer_free(struct heapwise_writer *writer, uint64_t address, uint32_t stack);

/* Records that an object got another address or size, as with realloc. */
HEAPWISE_WRITER_API int heapwise_writer_move(struct heapwise_writer *writer, uint64_t address, uint64_t to,
					     uint64_t size, uint32_t stack);

/* Records that `bytes` bytes at offset `offset` of the object were read or written. */
HEAPWISE_WRITER_API int heapwise_writer_access(struct heapwise_writer *writer, uint64_t address, uint64_t offset,
					       uint64_t bytes, int written);

/* Ends the trace and adds names. Always frees the writer. Returns 0, or -1 and sets errno. */
HEAPWISE_WRITER_API int heapwise_writer_close(struct heapwise_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
