/* SPDX-License-Identifier: MIT
 * Files that appear whole: who may read them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/base/outfile.h"
#include "lib/test.h"

/* Instead of the library's: it is one for all threads, so that a change for a moment is a change
 * for files that others create then. */
static u32 umasks;

mode_t umask(mode_t mask)
{
	umasks++;
	return (mode_t)syscall(SYS_umask, mask);
}

static void write_file(const char *path)
{
	struct outfile out;
	struct err err = {0};
	int status = outfile_open(&out, path, false, &err);

	CHECK_EQ(status, 0);
	if (status == 0) {
		fputs("x", out.file);
		CHECK_EQ(outfile_close(&out, 0, &err), 0);
	}
}

static u32 mode_of(const char *path)
{
	struct stat known = {0};

	CHECK_EQ(stat(path, &known), 0);
	return known.st_mode & 0777;
}

TEST(modes, "a file has the rights that the umask leaves, which is not changed to find out")
{
	static const u32 masks[] = {0, 022, 027, 077};
	char folder[] = "/tmp/heapwise-out-XXXXXX", path[64];

	if (!mkdtemp(folder))
		FAIL("mkdtemp");
	snprintf(path, sizeof path, "%s/a", folder);
	for (u32 i = 0; i < sizeof masks / sizeof *masks; i++) {
		umask(masks[i]);
		umasks = 0;
		write_file(path);
		CHECK_EQ(mode_of(path), 0666 & ~masks[i]);
		CHECK_EQ(umasks, 0);
	}
	unlink(path);
	CHECK_EQ(rmdir(folder), 0); /* nothing else is left in it */
}
