/* SPDX-License-Identifier: MIT
 * Lists the traces of an operand.
 * Host. Does not open them. */
#include "show/cli/traces.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "host/base/strbuf.h"

static int add(struct trace_list *self, const char *folder, const char *name, struct err *err)
{
	struct strbuf path = {0};
	const char *copy;

	if (folder)
		strbuf_addf(&path, "%s/%s", folder, name);
	else
		strbuf_add(&path, name);
	copy = path.failed ? NULL : arena_copy(&self->arena, strbuf_text(&path));
	strbuf_release(&path);
	if (!copy || !vec_push(&self->paths, copy))
		return err_memory(err);
	return 0;
}

static int add_folder(struct trace_list *self, const char *folder, struct err *err)
{
	struct dirent **names;
	int count = scandir(folder, &names, NULL, versionsort), status = 0;

	if (count < 0)
		return err_set(err, ERR_INPUT, "cannot read folder %s: %s", folder,
			       strerror(errno));
	for (int i = 0; i < count; i++) {
		size_t length = strlen(names[i]->d_name);

		if (status == 0 && length > 4 && strcmp(names[i]->d_name + length - 4, ".hwt") == 0)
			status = add(self, folder, names[i]->d_name, err);
		free(names[i]);
	}
	free(names);
	if (status == 0 && self->paths.count == 0)
		return err_set(err, ERR_INPUT, "folder %s contains no traces (*.hwt)", folder);
	return status;
}

int trace_list_find(struct trace_list *self, const char *operand, struct err *err)
{
	struct stat about;

	if (stat(operand, &about) != 0)
		return err_set(err, ERR_INPUT, "cannot open %s: %s", operand, strerror(errno));
	self->is_folder = S_ISDIR(about.st_mode);
	return self->is_folder ? add_folder(self, operand, err) : add(self, NULL, operand, err);
}

void trace_list_release(struct trace_list *self)
{
	vec_release(&self->paths);
	arena_release(&self->arena);
}
