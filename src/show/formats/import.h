/* SPDX-License-Identifier: MIT
 * What imports have in common. formats.c has the table of all formats. */
#ifndef SHOW_FORMATS_IMPORT_H
#define SHOW_FORMATS_IMPORT_H

#include "host/trace/writer.h"

/* An import may not write over what it reads. */
int import_check_output(const char *from, const char *to, struct err *err);

/* Closes the trace that an import writes: `status`, or why it cannot be closed. */
int import_close(struct trace_writer *writer, int status, struct err *err);

#endif
