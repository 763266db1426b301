/* SPDX-License-Identifier: MIT
 * Words of --owners=LIST that say how a scan is made. */
#ifndef SHOW_CLI_OWNERS_HOW_H
#define SHOW_CLI_OWNERS_HOW_H

#include "format/types.h"

/* Adds the word, of so many bytes, to *how (OWNERS_*); false if it is none of these. */
bool owners_how_add(u32 *how, const char *word, u64 bytes);

/* All words of a list with commas; false if one is unknown. */
bool owners_how_read(u32 *how, const char *list);

#endif
