/* SPDX-License-Identifier: MIT
 * Memory for several processes; see shared.h. Runs in the monitor. */
#define _GNU_SOURCE
#include "live/drain/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int shared_create(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, 0600); /* the system makes it for everybody who reaches it */
	return fd;
}

void shared_seal(int fd) { fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); }
