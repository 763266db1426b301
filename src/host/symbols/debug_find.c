/* SPDX-License-Identifier: MIT
 * Where separate debug files are; see debug_find.h. Runs on the host.
 *
 * libdwfl's own search is asked only where it would find something: it keeps the file open that it
 * has found, so that no copy could take its place (debug_cache.h), and where it finds none it loads
 * a library for asking servers, with forty others, even if no server is named. */
#include "host/symbols/debug_find.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/symbols/debug_cache.h"

bool debug_servers_named(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " \t\n")];
}

void debug_add_build_id(struct strbuf *path, const u8 *build_id, u64 bytes)
{
	strbuf_addf(path, "/.build-id/%02x/", build_id[0]);
	for (u64 i = 1; i < bytes; i++)
		strbuf_addf(path, "%02x", build_id[i]);
}

/* ---- by build-id ----------------------------------------------------------------------------- */

static int open_if_right(const char *path, const u8 *build_id, ssize_t bytes)
{
	struct stat status;
	int fd = io_open_regular(path, &status);
	const void *its;
	Elf *elf;
	bool right;

	if (fd < 0)
		return -1;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	right = elf && dwelf_elf_gnu_build_id(elf, &its) == bytes &&
		memcmp(its, build_id, (size_t)bytes) == 0;
	elf_end(elf);
	if (right)
		return fd;
	close(fd);
	return -1;
}

/* *found is where the file really lies: a common file of dwz is named relative to that. */
static int open_by_build_id(Dwfl_Module *module, const char *path, char **found)
{
	const unsigned char *build_id;
	struct strbuf file = {0};
	GElf_Addr address;
	int bytes = dwfl_module_build_id(module, &build_id, &address), fd = -1;

	for (const char *folder = path; bytes > 1 && *folder && fd < 0; folder += *folder == ':') {
		u64 length = strcspn(folder, ":");

		if (*folder == '/') {
			strbuf_clear(&file);
			strbuf_add_bytes(&file, folder, length);
			debug_add_build_id(&file, build_id, (u64)bytes);
			strbuf_add(&file, ".debug");
			fd = file.failed ? -1 : open_if_right(strbuf_text(&file), build_id, bytes);
		}
		folder += length;
	}
	*found = fd >= 0 ? realpath(strbuf_text(&file), NULL) : NULL;
	strbuf_release(&file);
	if (fd >= 0 && !*found) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- by name --------------------------------------------------------------------------------- */

static bool exists(struct strbuf *file, const char *name)
{
	strbuf_addf(file, "/%s", name);
	return !file->failed && access(strbuf_text(file), F_OK) == 0;
}

/* Below a folder for debug files: /usr/lib/debug/usr/bin/NAME, /usr/lib/debug/bin/NAME,
 * /usr/lib/debug/NAME. */
static bool is_below(struct strbuf *file, const char *folder, u64 folder_bytes, const char *of,
		     const char *name)
{
	for (const char *rest = of;; rest = rest[0] ? strchr(rest + 1, '/') : NULL) {
		strbuf_clear(file);
		strbuf_add_bytes(file, folder, folder_bytes);
		strbuf_add(file, rest ? rest : "");
		if (exists(file, name))
			return true;
		if (!rest)
			return false;
	}
}

/* Whether any folder of the path has such a file for a module in the folder `of`. */
static bool is_near(const char *path, const char *of, const char *name)
{
	struct strbuf file = {0};
	bool found = false;

	for (const char *folder = path; !found; folder++) {
		u64 length = strcspn(folder, ":");

		if (*folder == '/') {
			found = is_below(&file, folder, length, of, name);
		} else {
			strbuf_clear(&file);
			strbuf_addf(&file, "%s/%.*s", of, (int)length, folder);
			found = exists(&file, name);
		}
		folder += length;
		if (!*folder)
			break;
	}
	strbuf_release(&file);
	return found;
}

static bool is_near_file(const char *path, char *file, const char *name)
{
	char *slash = file ? strrchr(file, '/') : NULL;

	if (!slash)
		return file != NULL; /* who knows */
	*slash = 0;
	return is_near(path, file, name);
}

/* Whether libdwfl's search may find a file by the name that the module gives, or that follows from
 * its own. */
static bool is_named(const char *path, const char *file_name, const char *link)
{
	const char *slash = link ? strrchr(link, '/') : strrchr(file_name, '/');
	struct strbuf name = {0};
	char *as_named = strdup(file_name), *real = realpath(file_name, NULL);
	bool found;

	strbuf_addf(&name, "%s%s",
		    slash  ? slash + 1
		    : link ? link
			   : file_name,
		    link ? "" : ".debug");
	found = is_near_file(path, as_named, strbuf_text(&name)) ||
		is_near_file(path, real, strbuf_text(&name));
	free(as_named);
	free(real);
	strbuf_release(&name);
	return found;
}

int debug_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	       const char *file_name, const char *link, GElf_Word link_check, char **found)
{
	const struct module_lookup *lookup = *userdata;
	/* Without the name of a module's file it is dwz's common file that is wanted. */
	bool of_module = lookup && (file_name || !link);
	int fd = of_module ? open_by_build_id(module, lookup->path, found) : -1;

	if (fd >= 0)
		return debug_cache_swap(fd);
	if (of_module && !debug_servers_named() &&
	    !(file_name && is_named(lookup->path, file_name, link)))
		return -1;
	return dwfl_standard_find_debuginfo(module, userdata, name, base, file_name, link,
					    link_check, found);
}
