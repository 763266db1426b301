/* SPDX-License-Identifier: MIT
 * Rust's older linker names have T for every type, and a hash at their end that tells instances
 * apart. What T is stands in the debug information, by which the name becomes what newer linker
 * names are by themselves: alloc::vec::Vec<T,A>::push is alloc::vec::Vec<app::Point>::push. */
#ifndef HOST_SYMBOLS_RUST_NAMES_H
#define HOST_SYMBOLS_RUST_NAMES_H

#include "host/symbols/type_text.h"

enum { RUST_PARAMETERS = 16 };

/* _ZN…17h, 16 hexadecimal digits, E. */
bool rust_is_legacy(const char *linker_name);

/* The parameters' names where debug info has none (-C debuginfo=1), by those of a type of Rust's
 * libraries: its implementations list them in its order. How many; 0 = unknown. */
u32 rust_parameters(const char *readable, const char *plain, struct span *out);

/* The readable form of such a name with what the parameters stand for: `plain` is the function with
 * its arguments as debug info names it ("push<app::Point, alloc::alloc::Global>"). The global
 * allocator is left out. False if they do not fit. */
bool rust_name_fill(const char *readable, const char *plain, const struct span *parameters,
		    u32 count, struct strbuf *out);

#endif
