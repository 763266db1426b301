/* SPDX-License-Identifier: MIT
 * What imports have in common.
 * Host. */
#include "show/formats/import.h"

#include <sys/stat.h>

int import_check_output(const char *from, const char *to, struct err *err)
{
	struct stat input, output;

	if (stat(from, &input) == 0 && stat(to, &output) == 0 && input.st_dev == output.st_dev &&
	    input.st_ino == output.st_ino)
		return err_set(err, ERR_USAGE,
			       "%s is both input and output; choose another output file", to);
	return 0;
}

int import_close(struct trace_writer *writer, int status, struct err *err)
{
	struct err closing = {0};

	if (trace_writer_close(writer, &closing) == 0 || status < 0)
		return status;
	*err = closing;
	return closing.code;
}
