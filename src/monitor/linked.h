/* SPDX-License-Identifier: MIT
 * What an executable says that it is linked with. */
#ifndef MONITOR_LINKED_H
#define MONITOR_LINKED_H

#include "format/types.h"

/* The loader that a file names, "" if its name cannot be read. False: it names none, or is no executable of ours. */
bool linked_loader(int fd, char *path, u64 room);

/* Whether a sanitizer that replaces malloc is in it (address, thread, leak, memory). */
bool linked_with_sanitizer(int fd);

#endif
