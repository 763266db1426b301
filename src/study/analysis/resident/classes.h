/* SPDX-License-Identifier: MIT
 * How many bytes an allocator sets aside for a block, and what it can only give back together with
 * it: by the rules of allocators that are known, else by the addresses of neighbours.
 *
 *	struct size_classes classes = size_classes_of(model);
 *	struct class_extent extent = size_classes_block(&classes, address, size);
 *
 *	size_classes_release(&classes); */
#ifndef STUDY_ANALYSIS_RESIDENT_CLASSES_H
#define STUDY_ANALYSIS_RESIDENT_CLASSES_H

#include "host/base/vec.h"
#include "study/model/model.h"

enum classes_basis {
	CLASSES_UNKNOWN,  /* a block takes what was requested */
	CLASSES_RULES,    /* of the allocator */
	CLASSES_INFERRED, /* distances between neighbours */
};

/* Blocks of up to `size` bytes take `bytes`. */
struct size_class {
	u64 size, bytes;
	/* a span of blocks, which begins at a page, is given back as a whole; 0 = each page is */
	u64 span_bytes, page_bytes;
};

/* Blocks further apart than twice the size and this are not next to each other. */
enum { CLASS_FAR = 64 };

struct class_extent {
	u64 start, end;
};

struct class_rules;

struct size_classes { /* all zero = unknown */
	const struct class_rules *rules;
	enum classes_basis basis;
	u32 arch;                    /* ELF e_machine */
	VEC(struct size_class) list; /* by size; not of allocators that calculate */
};

/* By the rules of the model's allocator, if it is known. */
struct size_classes size_classes_of(const struct model *model);
void size_classes_release(struct size_classes *self);

/* The allocator whose rules are used, "glibc"; NULL = none. */
const char *size_classes_allocator(const struct size_classes *self);

/* The class of a size. */
struct size_class size_classes_find(const struct size_classes *self, u64 size);

/* From the allocator's header, if it has one, to the end of the class. */
struct class_extent size_classes_block(const struct size_classes *self, u64 address, u64 size);

/* What stays as long as the block does: the span that it lies in, or the block. */
struct class_extent size_classes_span(const struct size_classes *self, u64 address, u64 size);

#endif
