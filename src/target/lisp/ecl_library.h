/* SPDX-License-Identifier: MIT
 * libheapwise-lisp-ecl.so: objects of Embeddable Common Lisp as the recorder wants them told. Runs
 * in the target, preloaded behind the recorder, in front of libecl and libgc.
 *
 *	ecl_hooks.c   functions that allocate: which objects there are
 *	ecl_names.c   names of types and functions
 *	ecl_stack.c   the machine's frames → Lisp functions
 *	ecl_heap.c    which objects live: what the collector frees
 *
 * No lock, no malloc, and errno as it was on the way of an allocation. */
#ifndef TARGET_LISP_ECL_LIBRARY_H
#define TARGET_LISP_ECL_LIBRARY_H

#include <ecl/ecl.h> /* first: it has a bool of its own */

#include "format/atomics.h"
#include "format/runtime.h"

/* ---- names ---- */

/* Memory of the calling thread, NULL if there is none. */
struct hwl_cache *hwl_cache(void);

/* Number of the type of objects with this tag. */
u32 hwl_type_of_tag(int tag);
/* Of what is no object by itself. */
enum hwl_part { HWL_DATA, HWL_VECTOR_DATA, HWL_STRUCTURE_SLOTS, HWL_INSTANCE_SLOTS, HWL_PARTS };
u32 hwl_type_of_part(enum hwl_part part);
/* Of the instances of a class: "structure NODE", "instance POINT". */
u32 hwl_type_of_class(cl_object class);

/* Number of an interpreted (or compiled) function, or of its name. */
u32 hwl_code_of_function(cl_object function);
u32 hwl_code_of_name(cl_object name);

/* Writes a function's name, cut to fit. */
void hwl_name_write(char text[HW_CODE_NAME], cl_object name);

/* ---- stacks ---- */

hw_runtime_translate hwl_translate;

/* A compiled function begins at the address. */
void hwl_entry_add(u64 entry, cl_object name);

/* Modules whose functions are Lisp's own, and not shown but for those that Lisp knows. */
void hwl_modules_find(u64 in_libecl, u64 in_libgc);

/* ---- the heap ---- */

/* The object at the address lives; true if it was thought to live already. */
bool hwl_heap_add(u64 address);
/* It does not any more; false if it did not before. */
bool hwl_heap_drop(u64 address);

/* From now on what the collector frees is told. */
void hwl_heap_watch(void);

#endif
