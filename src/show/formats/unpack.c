/* SPDX-License-Identifier: MIT
 * Reads lines through zlib (which passes plain text on as it is) or zstd.
 * Host. Memory does not grow with the file. */
#include "show/formats/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

enum { PIECE_BYTES = 1 << 16 };

struct unpack_stream {
	gzFile gzip; /* gzip or plain; NULL = zstd */
	FILE *file;  /* zstd */
	ZSTD_DCtx *zstd;
	char in[PIECE_BYTES];
	ZSTD_inBuffer input;
	bool frame_open; /* the end of a zstd frame is yet to come */
	char out[PIECE_BYTES];
	u64 at, count; /* of `out` that was not used yet */
	bool ended;
	char line[UNPACK_LINE_MAX + 1];
};

static int fail(const struct unpack *self, const char *what, struct err *err)
{
	return err_set(err, ERR_INPUT, "cannot %s %s: %s", what, self->path, strerror(errno));
}

static bool is_zstd(FILE *file)
{
	static const u8 magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
	u8 start[sizeof(magic)];
	bool found = fread(start, 1, sizeof(start), file) == sizeof(start) &&
		     memcmp(start, magic, sizeof(magic)) == 0;

	rewind(file);
	return found;
}

int unpack_open(struct unpack *self, const char *path, struct err *err)
{
	struct unpack_stream *stream = calloc(1, sizeof(*stream));

	*self = (struct unpack){.path = path, .stream = stream};
	if (!stream)
		return err_memory(err);
	stream->file = fopen(path, "re");
	if (!stream->file)
		return fail(self, "open", err);
	if (is_zstd(stream->file)) {
		stream->zstd = ZSTD_createDCtx();
		return stream->zstd ? 0 : err_memory(err);
	}
	fclose(stream->file);
	stream->file = NULL;
	stream->gzip = gzopen(path, "re");
	return stream->gzip ? 0 : fail(self, "open", err);
}

/* Decompresses until there is something, or the end of the file. */
static int fill_zstd(struct unpack *self, struct err *err)
{
	struct unpack_stream *stream = self->stream;
	ZSTD_outBuffer output = {.dst = stream->out, .size = sizeof(stream->out)};

	while (output.pos == 0 && !stream->ended) {
		size_t left;

		if (stream->input.pos == stream->input.size) {
			stream->input =
				(ZSTD_inBuffer){.src = stream->in,
						.size = fread(stream->in, 1, sizeof(stream->in),
							      stream->file)};
			if (ferror(stream->file))
				return fail(self, "read", err);
			if (!stream->input.size) {
				stream->ended = true;
				self->cut = stream->frame_open;
				break;
			}
		}
		left = ZSTD_decompressStream(stream->zstd, &output, &stream->input);
		if (ZSTD_isError(left))
			return err_set(err, ERR_INPUT, "cannot unpack %s: %s", self->path,
				       ZSTD_getErrorName(left));
		stream->frame_open = left != 0;
	}
	stream->count = output.pos;
	return 0;
}

static int fill_gzip(struct unpack *self, struct err *err)
{
	struct unpack_stream *stream = self->stream;
	int got = gzread(stream->gzip, stream->out, sizeof(stream->out)), code = Z_OK;
	const char *text = gzerror(stream->gzip, &code);

	if (code == Z_ERRNO)
		return fail(self, "read", err);
	if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
		return err_set(err, ERR_INPUT, "cannot unpack %s: %s", self->path, text);
	stream->count = got > 0 ? (u64)got : 0;
	stream->ended = !stream->count;
	self->cut |= code == Z_BUF_ERROR;
	return 0;
}

static int fill(struct unpack *self, struct err *err)
{
	self->stream->at = self->stream->count = 0;
	return self->stream->gzip ? fill_gzip(self, err) : fill_zstd(self, err);
}

/* Moves what there is of the line; true when its end was found. */
static bool take(struct unpack *self, u64 *room)
{
	struct unpack_stream *stream = self->stream;
	const char *from = stream->out + stream->at;
	u64 left = stream->count - stream->at;
	const char *end = memchr(from, '\n', left);
	u64 bytes = end ? (u64)(end - from) : left;

	if (bytes > *room)
		bytes = *room + 1; /* too long, which the caller sees */
	if (bytes <= *room)
		memcpy(stream->line + self->length, from, bytes);
	*room -= bytes <= *room ? bytes : *room;
	self->length += bytes;
	stream->at += bytes + (end != NULL);
	return end != NULL;
}

int unpack_line(struct unpack *self, struct err *err)
{
	struct unpack_stream *stream = self->stream;
	u64 room = UNPACK_LINE_MAX;
	bool found = false;
	int status = 0;

	self->length = 0;
	self->line = NULL;
	while (!found && status == 0 && self->length <= UNPACK_LINE_MAX) {
		if (stream->at == stream->count && !stream->ended)
			status = fill(self, err);
		if (status < 0 || (stream->at == stream->count && stream->ended))
			break;
		found = take(self, &room);
	}
	if (status < 0)
		return status;
	self->number++;
	if (self->length > UNPACK_LINE_MAX)
		return err_set(err, ERR_INPUT, "%s: line %llu is longer than %d bytes", self->path,
			       (unsigned long long)self->number, UNPACK_LINE_MAX);
	if (!found && (!self->length || self->cut))
		return 0;
	stream->line[self->length] = 0;
	self->line = stream->line;
	return 0;
}

void unpack_close(struct unpack *self)
{
	if (!self->stream)
		return;
	if (self->stream->gzip)
		gzclose(self->stream->gzip);
	if (self->stream->file)
		fclose(self->stream->file);
	ZSTD_freeDCtx(self->stream->zstd);
	free(self->stream);
	self->stream = NULL;
}
