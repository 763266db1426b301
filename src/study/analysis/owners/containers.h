/* SPDX-License-Identifier: MIT
 * Containers: what has many elements, with their number, by types where these are known and by the
 * shape of the graph otherwise. Defined in docs/METHODS.md, "Containers". */
#ifndef STUDY_ANALYSIS_OWNERS_CONTAINERS_H
#define STUDY_ANALYSIS_OWNERS_CONTAINERS_H

#include "study/analysis/owners/held.h"

/* Fills containers and container_of; all else is known. False without memory. */
bool owner_containers_find(struct owners *self);

/* "dynamic array", "hash table" … */
const char *container_sort_name(u8 sort);
/* Its type, or else that. */
const char *container_kind(const struct owner_container *container);

#endif
