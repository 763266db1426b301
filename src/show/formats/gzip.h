/* SPDX-License-Identifier: MIT
 * A stream of bytes, compressed as gzip does, to a file that is open. */
#ifndef SHOW_FORMATS_GZIP_H
#define SHOW_FORMATS_GZIP_H

#include <stdio.h>

#include <zlib.h>

#include "host/base/err.h"
#include "format/types.h"

struct gzip {
	FILE *out;
	z_stream stream;
};

int gzip_open(struct gzip *self, FILE *out, struct err *err);
int gzip_write(struct gzip *self, const void *bytes, u64 count, struct err *err);

/* Ends the stream and frees what it needed. After a failure with finish false. */
int gzip_close(struct gzip *self, bool finish, struct err *err);

#endif
