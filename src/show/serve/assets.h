/* SPDX-License-Identifier: MIT
 * The files of the web page, which are part of the program. */
#ifndef SHOW_SERVE_ASSETS_H
#define SHOW_SERVE_ASSETS_H

#include "format/types.h"

struct asset {
	const char *name; /* "app.js" */
	const char *type; /* of its content, as a header says it */
	const u8 *data, *end;
};

/* The file of that name, or NULL. */
const struct asset *asset_find(const char *name);

/* All of them by number; NULL after the last. */
const struct asset *asset_at(u32 index);

#endif
