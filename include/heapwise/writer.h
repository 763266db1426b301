/* SPDX-License-Identifier: MIT
 * Writes a trace without a recorder: for interpreters, managed runtimes and simulators that know their own objects
 * better than any malloc does. Link with -lheapwise-writer; heapwise-writer(3) says more.
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
 * Any thread may call any of these but open and close, at any time; they take turns. They allocate, so that a
 * runtime must not call them from inside an allocator that they use themselves. A process that forks must write
 * in one of both only. Objects that share the trace of 'heapwise run' with malloc's blocks are told by
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
	HEAPWISE_WRITER_ACCESSES = 1, /* heapwise_writer_access tells every access; without it none is expected */
};

/* Creates the trace, or replaces it. `program` is what it is said to be of. NULL and errno if it cannot be had. */
HEAPWISE_WRITER_API struct heapwise_writer *heapwise_writer_open(const char *path, const char *program,
								 int flags);

/* A function of the language, with the place that it is defined or called at; file may be NULL, line 0. The same
 * three give the same number. 0: out of memory. */
HEAPWISE_WRITER_API uint32_t heapwise_writer_function(struct heapwise_writer *writer, const char *name,
						      const char *file, uint32_t line);

/* The stack in which `function` was called from the stack `caller`; 0 is the empty one. */
HEAPWISE_WRITER_API uint32_t heapwise_writer_stack(struct heapwise_writer *writer, uint32_t caller,
						   uint32_t function);

/* A type, or a class, by name. 0, which is no type: out of memory. */
HEAPWISE_WRITER_API uint32_t heapwise_writer_type(struct heapwise_writer *writer, const char *name);

/* An object begins at the address, which is any number that no other live object has: 0 and a number that is still in
 * use are not accepted. type 0 is unknown. 0, or -1 and errno (EINVAL, EEXIST, or what writing failed with). */
HEAPWISE_WRITER_API int heapwise_writer_alloc(struct heapwise_writer *writer, uint64_t address, uint64_t size,
					      uint32_t stack, uint32_t type);

/* It ends: freed, or collected; the stack is who did it. -1 and ENOENT if there is no such object: that is counted,
 * and said with the trace. */
HEAPWISE_WRITER_API int heapwise_writer_free(struct heapwise_writer *writer, uint64_t address, uint32_t stack);

/* It goes on elsewhere, or with another size; as a realloc does. */
HEAPWISE_WRITER_API int heapwise_writer_move(struct heapwise_writer *writer, uint64_t address, uint64_t to,
					     uint64_t size, uint32_t stack);

/* `bytes` bytes from offset `offset` of the object were read, or written. */
HEAPWISE_WRITER_API int heapwise_writer_access(struct heapwise_writer *writer, uint64_t address, uint64_t offset,
					       uint64_t bytes, int written);

/* Ends the trace, and names what is in it. Frees the writer in any case. 0, or -1 and errno. */
HEAPWISE_WRITER_API int heapwise_writer_close(struct heapwise_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
