/* SPDX-License-Identifier: MIT
 * Stored queries; see graph_store.h. Runs on threads of the server. */
#define _GNU_SOURCE
#include "show/serve/graph_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"
#include "study/query/query.h"

static const char suffix[] = ".hwq";

bool graph_name_is_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	size_t length = strlen(name);

	return length && length <= GRAPH_NAME_MAX && name[0] != '.' &&
	       strspn(name, letters) == length;
}

static int path_of(const char *folder, const char *name, struct strbuf *path, struct err *err)
{
	if (!folder)
		return err_set(err, ERR_SYSTEM,
			       "there is no folder for queries: neither XDG_CONFIG_HOME nor HOME "
			       "is set; set HOME to an existing folder");
	if (!graph_name_is_valid(name))
		return err_set(err, ERR_USAGE,
			       "a name must have 1 to %d letters, digits, - _ and ., and must not "
			       "begin with .",
			       GRAPH_NAME_MAX);
	strbuf_addf(path, "%s/%s%s", folder, name, suffix);
	return path->failed ? err_memory(err) : 0;
}

/* ---- list ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool take_name(struct graph_names *self, const char *file)
{
	size_t length = strlen(file), end = sizeof suffix - 1;
	char *name;

	if (length <= end || strcmp(file + length - end, suffix) != 0)
		return true;
	if (self->names.count == GRAPH_NAMES_MAX) {
		self->cut = true;
		return true;
	}
	name = arena_copy_text(&self->arena, file, length - end);
	return name && (!graph_name_is_valid(name) || vec_push(&self->names, name));
}

int graph_store_list(const char *folder, struct graph_names *names, struct err *err)
{
	DIR *open_folder = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	bool enough = true;

	if (!open_folder)
		return !folder || errno == ENOENT ? 0
						  : err_set(err, ERR_SYSTEM, "cannot read %s: %s",
							    folder, strerror(errno));
	while (enough && (entry = readdir(open_folder)))
		enough = take_name(names, entry->d_name);
	closedir(open_folder);
	if (names->names.count)
		qsort(names->names.data, names->names.count, sizeof(char *), by_text);
	return enough ? 0 : err_memory(err);
}

void graph_names_release(struct graph_names *self)
{
	vec_release(&self->names);
	arena_release(&self->arena);
}

/* ---- one ---- */

int graph_store_read(const char *folder, const char *name, struct strbuf *text, struct err *err)
{
	struct strbuf path = {0};
	int status = path_of(folder, name, &path, err);

	if (status == 0)
		status = io_read_file(strbuf_text(&path), QUERY_TEXT_MAX, text, err);
	if (status == 0 && strlen(strbuf_text(text)) != text->count)
		status = err_set(err, ERR_SYSTEM, "%s is not a text file", strbuf_text(&path));
	strbuf_release(&path);
	return status;
}

/* Two clients may write at once: each has a file of its own until it is complete. */
int graph_store_write(const char *folder, const char *name, const char *text, struct err *err)
{
	struct strbuf path = {0}, half = {0};
	int status = path_of(folder, name, &path, err);
	int fd = -1;

	if (status == 0)
		status = io_make_folder(folder, 0700, err);
	strbuf_addf(&half, "%s.XXXXXX", strbuf_text(&path));
	if (status == 0 && half.failed)
		status = err_memory(err);
	if (status == 0) {
		fd = mkostemp(half.text, O_CLOEXEC);
		if (fd < 0 || io_write_all(fd, text, strlen(text), NULL) != 0 ||
		    rename(half.text, strbuf_text(&path)) != 0)
			status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", strbuf_text(&path),
					 strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && status < 0)
		unlink(half.text);
	strbuf_release(&path);
	strbuf_release(&half);
	return status;
}

int graph_store_remove(const char *folder, const char *name, struct err *err)
{
	struct strbuf path = {0};
	int status = path_of(folder, name, &path, err);

	if (status == 0 && unlink(strbuf_text(&path)) != 0)
		status = err_set(err, errno == ENOENT ? ERR_INPUT : ERR_SYSTEM,
				 "cannot remove %s: %s", name, strerror(errno));
	strbuf_release(&path);
	return status;
}
