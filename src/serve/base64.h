/* SPDX-License-Identifier: MIT
 * Bytes as text (RFC 4648, base64 with padding). */
#ifndef SERVE_BASE64_H
#define SERVE_BASE64_H

#include "output/json.h"

/* The caller's to free; NULL if there is no memory. */
char *base64_text(const u8 *bytes, u64 count);

/* The same inside of JSON; null if there is no memory. */
void put_base64(struct json *json, const char *key, const u8 *bytes, u64 count);

#endif
