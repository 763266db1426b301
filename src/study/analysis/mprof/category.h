/* SPDX-License-Identifier: MIT
 * Lisp types in the categories of mprof's paper: cons cell, floating point number, structure or
 * vector, other. Defined in docs/METHODS.md, "Lisp". */
#ifndef STUDY_ANALYSIS_MPROF_CATEGORY_H
#define STUDY_ANALYSIS_MPROF_CATEGORY_H

#include "study/result/result.h"

/* The function that stands for all that a Lisp does before it runs anybody's code. */
#define LISP_START "(start of ECL)"

enum lisp_category { LISP_CONS, LISP_FLOAT, LISP_STRUCTURE, LISP_OTHER, LISP_CATEGORIES };

/* Of a type by its name, as the recorder's library for a Lisp gives it. */
enum lisp_category lisp_category(const char *type);

/* "c", "f", "s", "o". */
const char *lisp_letter(enum lisp_category category);

/* Name, label and meaning of a column of tables whose columns are by size: of category i
 * instead. */
void lisp_column(struct result *result, u64 column, u32 category, const char *prefix);

#endif
