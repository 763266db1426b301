/* SPDX-License-Identifier: MIT
 * Containers of the C++ libraries, libstdc++ and libc++, by type; and arrays that are members. */
#ifndef STUDY_ANALYSIS_OWNERS_LIBRARY_H
#define STUDY_ANALYSIS_OWNERS_LIBRARY_H

#include "study/analysis/owners/contain.h"

/* What is in an object of some type, at an offset. */
struct container_field {
	u64 offset;
	u32 type; /* of the container, or of an array */
	u8 sort;  /* enum container_sort */
};

struct container_rows { /* of one type */
	u32 start, count;
};

struct container_fields { /* all zero = empty */
	VEC(struct container_field) rows;
	VEC(struct container_rows) types;
	struct map by_type; /* declared type → number in types + 1 */
};

/* The containers of the C++ library in a type; *count of them. NULL without memory. */
const struct container_field *container_fields_of(struct container_fields *self,
						  struct owners *owners, u32 type, u32 *count);
void container_fields_release(struct container_fields *self);

/* Adds the container that is at this place, if it has memory. */
void library_add(struct containing *self, u32 node, u64 offset,
		 const struct container_field *field);

/* The sort of a container by the name of its type; false if it is none of the library. */
bool library_sort(const char *type, u8 *sort);

#endif
