/* SPDX-License-Identifier: MIT
 * Looks at the first lines of a file.
 * Host. */
#include "show/formats/recognise.h"

#include <ctype.h>
#include <string.h>

#include "show/formats/unpack.h"

enum { LINES_MAX = 64 };

/* "THREAD ROUTINE start NAME" */
static bool is_emad(const char *line)
{
	for (int numbers = 0; numbers < 2; numbers++) {
		if (!isdigit((unsigned char)*line))
			return false;
		line += strspn(line, "0123456789");
		if (!isspace((unsigned char)*line))
			return false;
		line += strspn(line, " \t");
	}
	return strncmp(line, "start ", 6) == 0 || strncmp(line, "exit ", 5) == 0;
}

static enum exchange_format format_of(const char *line)
{
	if (line[0] == 'v' && line[1] == ' ' && isxdigit((unsigned char)line[2]))
		return EXCHANGE_HEAPTRACK;
	if (strncmp(line, "HeapLog|", 8) == 0)
		return EXCHANGE_HEAPLOG;
	return is_emad(line) ? EXCHANGE_EMAD : EXCHANGE_UNKNOWN;
}

int exchange_recognise(const char *path, enum exchange_format *format, struct err *err)
{
	struct unpack file;
	int status = unpack_open(&file, path, err);

	*format = EXCHANGE_UNKNOWN;
	for (u32 i = 0; i < LINES_MAX && status == 0 && *format == EXCHANGE_UNKNOWN; i++) {
		status = unpack_line(&file, err);
		if (status < 0 || !file.line)
			break;
		if (file.line[strspn(file.line, " \t\r")] && *file.line != '#') {
			*format = format_of(file.line);
			break;
		}
	}
	if (status == 0 && *format == EXCHANGE_UNKNOWN && file.cut)
		status = err_set(err, ERR_INPUT, "%s is truncated before the end of its first line", path);
	unpack_close(&file);
	return status;
}
