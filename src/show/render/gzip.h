/* SPDX-License-Identifier: MIT
 * Bytes compressed as gzip does: a stream to a file that is open, or all at once. */
#ifndef SHOW_RENDER_GZIP_H
#define SHOW_RENDER_GZIP_H

#include <stdio.h>

#include <zlib.h>

#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "format/types.h"

struct gzip {
	FILE *out;
	z_stream stream;
};

int gzip_open(struct gzip *self, FILE *out, struct err *err);
int gzip_write(struct gzip *self, const void *bytes, u64 count, struct err *err);

/* Ends the stream and frees what it needed. After a failure with finish false. */
int gzip_close(struct gzip *self, bool finish, struct err *err);

/* Quickly rather than small, for what is sent at once. False, and nothing, without memory. */
bool gzip_pack(const void *bytes, u64 count, struct strbuf *out);

#endif
