/* SPDX-License-Identifier: MIT
 * Finds Heapwise's own files; see parts.h. Runs in our own process. Never looks at the
 * environment. */
#define _GNU_SOURCE
#include "host/base/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "format/types.h"

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

const char *parts_installed(void) { return "../" HEAPWISE_LIBDIR "/heapwise"; }
