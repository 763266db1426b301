/* SPDX-License-Identifier: MIT
 * Bytes as text (RFC 4648, base64 with padding). */
#ifndef HOST_BASE_BASE64_H
#define HOST_BASE_BASE64_H

#include "format/types.h"

/* The caller's to free; NULL if there is no memory. */
char *base64_text(const u8 *bytes, u64 count);

#endif
