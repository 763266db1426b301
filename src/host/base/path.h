/* SPDX-License-Identifier: MIT
 * Parts of paths. */
#ifndef HOST_BASE_PATH_H
#define HOST_BASE_PATH_H

#include <string.h>

/* The file's name without its folder. */
static inline const char *path_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
