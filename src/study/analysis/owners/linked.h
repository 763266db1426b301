/* SPDX-License-Identifier: MIT
 * Lists, trees and other chunks that are alike and point to each other. */
#ifndef STUDY_ANALYSIS_OWNERS_LINKED_H
#define STUDY_ANALYSIS_OWNERS_LINKED_H

#include "study/analysis/owners/contain.h"

/* Adds all of them that are part of no container yet. */
void linked_add(struct containing *self);

#endif
