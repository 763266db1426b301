/* SPDX-License-Identifier: MIT
 * Whether a program of this user can be monitored by userfaultfd; see userfault.h. */
#include "live/program/userfault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

static int descriptor(void)
{
	int made = (int)syscall(SYS_userfaultfd, O_CLOEXEC), why = errno, device;

	if (made >= 0)
		return made;
	device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (device >= 0) {
		made = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC);
		close(device);
	}
	errno = why;
	return made;
}

int userfault_check(struct err *err)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
	int made = descriptor(), told;

	if (made < 0 && errno == ENOSYS)
		return err_set(err, ERR_INPUT,
			       "this kernel has no userfaultfd; omit --pages to "
			       "monitor memory with mprotect");
	if (made < 0)
		return err_set(err, ERR_INPUT,
			       "userfaultfd is not allowed: %s; it needs CAP_SYS_PTRACE, access to "
			       "/dev/userfaultfd, or vm.unprivileged_userfaultfd = 1; omit --pages "
			       "to monitor memory with mprotect",
			       strerror(errno));
	told = ioctl(made, UFFDIO_API, &api);
	close(made);
	if (told < 0)
		return err_set(err, ERR_INPUT,
			       "this kernel's userfaultfd cannot write-protect "
			       "memory (Linux 5.7 or newer can); omit --pages to "
			       "monitor memory with mprotect");
	return 0;
}
