/* SPDX-License-Identifier: MIT
 * A file that appears whole or not at all: it is written beside its place and put there at the end.
 * Standard output, devices and pipes are written as they come.
 *
 *	struct outfile out;
 *	int status = outfile_open(&out, path, false, &err);
 *	if (status == 0)
 *		status = outfile_close(&out, write(out.file), &err);
 */
#ifndef HOST_BASE_OUTFILE_H
#define HOST_BASE_OUTFILE_H

#include <stdio.h>

#include "host/base/err.h"
#include "host/base/strbuf.h"

struct outfile {
	FILE *file;
	const char *path;        /* as it was given, NULL = standard output */
	struct strbuf target;    /* where it goes at the end; "" = it is copied to path */
	struct strbuf temporary; /* the file meanwhile; "" = written in place */
};

/* path NULL or "-" is standard output. named: whoever writes needs a file with a name, which is
 * `temporary`, whatever the path is. */
int outfile_open(struct outfile *self, const char *path, bool named, struct err *err);

/* With the status of the writer: puts the file in its place if that is 0 and everything could be
 * written, and removes it otherwise. Returns the status. */
int outfile_close(struct outfile *self, int status, struct err *err);

#endif
