/* SPDX-License-Identifier: MIT
 * gzip by zlib. The time in the header is 0, so that the same trace gives the same bytes.
 * Host. Write errors stay on the file for its owner. */
#include "show/render/gzip.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8, PIECE_BYTES = 1 << 16 };

int gzip_open(struct gzip *self, FILE *out, struct err *err)
{
	memset(self, 0, sizeof(*self));
	self->out = out;
	if (deflateInit2(&self->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_memory_for(err, "compression");
	return 0;
}

static int deflate_all(struct gzip *self, int flush, struct err *err)
{
	u8 piece[PIECE_BYTES];
	int status;

	do {
		self->stream.next_out = piece;
		self->stream.avail_out = sizeof(piece);
		status = deflate(&self->stream, flush);
		if (status == Z_STREAM_ERROR)
			return err_set(err, ERR_SYSTEM, "compression failed");
		fwrite(piece, 1, sizeof(piece) - self->stream.avail_out, self->out);
	} while (self->stream.avail_out == 0);
	return 0;
}

int gzip_write(struct gzip *self, const void *bytes, u64 count, struct err *err)
{
	const u8 *at = bytes;
	int status = 0;

	while (count && status == 0) {
		uInt part = count > (1u << 30) ? 1u << 30 : (uInt)count;

		self->stream.next_in = (u8 *)(uintptr_t)at;
		self->stream.avail_in = part;
		status = deflate_all(self, Z_NO_FLUSH, err);
		at += part;
		count -= part;
	}
	return status;
}

int gzip_close(struct gzip *self, bool finish, struct err *err)
{
	int status = finish ? deflate_all(self, Z_FINISH, err) : 0;

	deflateEnd(&self->stream);
	return status;
}

bool gzip_pack(const void *bytes, u64 count, struct strbuf *out)
{
	z_stream stream = {0};
	u64 bound;
	u8 *packed;
	bool done = false;

	strbuf_clear(out);
	if (count > UINT32_MAX || deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_GZIP,
					       MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	bound = deflateBound(&stream, count);
	packed = malloc(bound);
	if (packed) {
		stream.next_in = (Bytef *)(uintptr_t)bytes;
		stream.avail_in = (uInt)count;
		stream.next_out = packed;
		stream.avail_out = (uInt)bound;
		done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
		strbuf_add_bytes(out, packed, done ? bound - stream.avail_out : 0);
	}
	free(packed);
	deflateEnd(&stream);
	return done && !out->failed;
}
