/* SPDX-License-Identifier: MIT
 * Lines of a text file that may be compressed by gzip or zstd, which its first bytes tell.
 *
 *	struct unpack file;
 *	int status = unpack_open(&file, path, &err);
 *	while (status == 0 && (status = unpack_line(&file, &err)) == 0 && file.line)
 *		use(file.line, file.length, file.number);
 *	unpack_close(&file);
 */
#ifndef SHOW_FORMATS_UNPACK_H
#define SHOW_FORMATS_UNPACK_H

#include "host/base/err.h"
#include "format/types.h"

enum { UNPACK_LINE_MAX = 1 << 20 }; /* bytes; longer lines are an error */

struct unpack_stream; /* what reads and decompresses, in unpack.c */

struct unpack {
	const char *path;
	struct unpack_stream *stream;
	char *line; /* without its end, terminated; NULL at the end of the file */
	u64 length; /* of the line, which may hold zero bytes */
	u64 number; /* of the line, from 1 */
	/* compressed data broke off: what there was of it was told, but for its last line */
	bool cut;
};

int unpack_open(struct unpack *self, const char *path, struct err *err);

/* The next line. */
int unpack_line(struct unpack *self, struct err *err);

/* Also after unpack_open has failed. */
void unpack_close(struct unpack *self);

#endif
