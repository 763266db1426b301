/* SPDX-License-Identifier: MIT
 * Finds Heapwise's own files; see parts.h. Runs in our own process. Where the files are does not
 * depend on the environment. */
#define _GNU_SOURCE
#include "host/base/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/types.h"
#include "host/base/io.h"
#include "host/base/map.h"

_Static_assert(PARTS_PATH >= 4096, "realpath needs PATH_MAX bytes");

/* HEAPWISE_LIBDIR: "lib", or "lib/x86_64-linux-gnu" where libraries of several machines live side
 * by side. */
static const char *const places[] = {
	"",                                 /* all in one folder, as it was built */
	"/../" HEAPWISE_LIBDIR "/heapwise", /* from bin/ of an installed tree */
	"/../lib/heapwise",
	"/heapwise", /* from the folder of libheapwise-client.so */
	/* from a tool in a folder of its own, such as build/examples */
	"/..",
};

void parts_own_folder(char folder[PARTS_PATH])
{
	ssize_t length = readlink("/proc/self/exe", folder, PARTS_PATH - 1);
	const char *called = length > 0 ? NULL : (const char *)getauxval(AT_EXECFN);
	char *slash;

	folder[length > 0 ? length : 0] = 0;
	/* where /proc is not mounted, what was executed is known all the same */
	if (called && !realpath(called, folder))
		folder[0] = 0;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
}

bool parts_find(const char *folder, const char *name, char path[PARTS_PATH])
{
	for (u32 i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char candidate[2 * PARTS_PATH];
		int length =
			snprintf(candidate, sizeof(candidate), "%s%s/%s", folder, places[i], name);

		if (length > 0 && (size_t)length < sizeof(candidate) && realpath(candidate, path) &&
		    access(path, R_OK) == 0)
			return true;
	}
	path[0] = 0;
	return false;
}

static const char unpreloadable[] = " :";

/* The folder of links; nobody else may write into it. */
static bool links_make(char folder[PARTS_PATH])
{
	const char *temporary = io_temporary_folder();
	struct stat status;

	snprintf(folder, PARTS_PATH, "%.4000s/heapwise-links-%u",
		 strpbrk(temporary, unpreloadable) ? "/tmp" : temporary, (unsigned)geteuid());
	if (mkdir(folder, 0755) == 0)
		chmod(folder, 0755); /* whatever the umask is: children may run as another user */
	return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
	       status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

int parts_preloadable(char path[PARTS_PATH], struct err *err)
{
	char links[PARTS_PATH], link[PARTS_PATH + 32], there[PARTS_PATH] = "";
	char *name = strrchr(path, '/');
	int length;

	if (!strpbrk(path, unpreloadable) || !name)
		return 0;
	*name++ = 0;
	if (links_make(links)) {
		snprintf(link, sizeof(link), "%s/%016llx", links,
			 (unsigned long long)hash_text(HASH_START, path));
		if ((symlink(path, link) == 0 || readlink(link, there, sizeof(there) - 1) > 0) &&
		    (!*there || strcmp(there, path) == 0)) {
			length = snprintf(there, sizeof(there), "%s/%s", link, name);
			if (length > 0 && (size_t)length < sizeof(there) &&
			    !strpbrk(there, unpreloadable)) {
				memcpy(path, there, (size_t)length + 1);
				return 0;
			}
		}
	}
	name[-1] = '/';
	return err_set(err, ERR_INPUT,
		       "the path '%s' contains a blank or a colon, which LD_PRELOAD cannot handle, "
		       "and no link to it can be made in %s; move Heapwise to another folder",
		       path, links);
}

const char *parts_installed(void) { return "../" HEAPWISE_LIBDIR "/heapwise"; }
