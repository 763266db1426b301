/* SPDX-License-Identifier: MIT
 * GNAT's linker names → the names that people wrote, in small letters: a__leak is a.leak,
 * a__inner__Oadd is a.inner."+". */
#ifndef HOST_SYMBOLS_ADA_NAMES_H
#define HOST_SYMBOLS_ADA_NAMES_H

#include "host/base/strbuf.h"

/* Whether the name can only be GNAT's: a main program, or a unit of Ada's own library. */
bool ada_is_certain(const char *linker_name);

/* Whether it has the form that GNAT gives to what is in a package. So have some names of C. */
bool ada_is_possible(const char *linker_name);

/* Adds the readable name; what is not understood stays as it is. */
void ada_name_add(struct strbuf *out, const char *linker_name);

#endif
