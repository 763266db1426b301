/* SPDX-License-Identifier: MIT
 * Names of frames while a program runs: each address is looked up once. */
#ifndef LIVE_WATCH_NAMES_H
#define LIVE_WATCH_NAMES_H

#include "host/base/map.h"
#include "host/symbols/symbolizer.h"
#include "live/watch/report.h"

struct watch_name {
	/* "function (file:line)", or what is known of it; harmless (host/base/text.h) */
	char *text;
	char *function, *file; /* NULL = unknown */
	u32 line;              /* 0 = unknown */
};

struct watch_names {
	struct symbolizer *symbolizer; /* NULL until it is needed, or it cannot be had */
	/* hash of module and address, of a frame or of a type -> struct watch_name *, owned */
	struct map known;
};

/* Owned by the names; NULL without memory. */
const struct watch_name *watch_names_look(struct watch_names *self,
					  const struct watch_frame *frame);

/* Its text; never NULL. */
const char *watch_names_find(struct watch_names *self, const struct watch_frame *frame);
/* The name of a type whose vtable is there, or what is known of it. */
const char *watch_names_type(struct watch_names *self, const struct watch_frame *at);
void watch_names_release(struct watch_names *self);

#endif
