/* SPDX-License-Identifier: MIT
 * Lists of folders.
 * Host. Links are followed before anything is compared. */
#define _GNU_SOURCE
#include "study/layout/folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/atomics.h"

bool path_is_below(const char *path, const char *folder)
{
	size_t bytes = strlen(folder);

	return strncmp(path, folder, bytes) == 0 &&
	       (path[bytes] == '/' || (bytes && folder[bytes - 1] == '/'));
}

bool folders_hold(const struct folders *self, const char *path)
{
	u32 count = load_acquire(&self->count); /* pairs with folders_add */

	for (u32 i = 0; i < count; i++)
		if (path_is_below(path, self->paths[i]))
			return true;
	return false;
}

static int refuse(char *path, const char *folder, int failure, struct err *err)
{
	free(path);
	return err_set(err, ERR_INPUT, "cannot open the folder %s: %s", folder, strerror(failure));
}

int folders_add(struct folders *self, const char *folder, struct err *err)
{
	char *path = realpath(folder, NULL);
	struct stat status;

	if (!path || stat(path, &status) != 0)
		return refuse(path, folder, errno, err);
	if (!S_ISDIR(status.st_mode))
		return refuse(path, folder, ENOTDIR, err);
	for (u32 i = 0; i < self->count; i++)
		if (strcmp(path, self->paths[i]) == 0 || path_is_below(path, self->paths[i])) {
			free(path);
			return 0;
		}
	if (self->count == FOLDERS_MAX) {
		free(path);
		return err_set(err, ERR_USAGE, "too many source folders: at most %d are allowed",
			       FOLDERS_MAX);
	}
	self->paths[self->count] = path;
	store_release(&self->count, self->count + 1); /* pairs with folders_hold */
	return 0;
}

void folders_release(struct folders *self)
{
	for (u32 i = 0; i < self->count; i++)
		free(self->paths[i]);
	*self = (struct folders){0};
}
