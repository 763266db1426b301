/* SPDX-License-Identifier: MIT
 * What an executable file says of itself. */
#ifndef LIVE_PROGRAM_EXECUTABLE_H
#define LIVE_PROGRAM_EXECUTABLE_H

#include "format/types.h"

/* The loader that a file names, "" if that cannot be read. False: it was read, and names none, or
 * is no executable of ours. */
bool executable_loader(int fd, char *path, u64 room);

/* Whether a sanitizer that replaces malloc is in it (address, thread, leak, memory). */
bool executable_has_sanitizer(int fd);

/* Whether it has a note of ours of this type (format/shadow.h); *content receives what that
 * says. */
bool executable_has_note(int fd, u32 type, u32 *content);

#endif
