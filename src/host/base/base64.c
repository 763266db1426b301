/* SPDX-License-Identifier: MIT
 * Base64; see base64.h. */
#include "host/base/base64.h"

#include <stdlib.h>

char *base64_text(const u8 *bytes, u64 count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((count + 2) / 3 * 4 + 1);
	u64 at = 0;

	for (u64 i = 0; text && i < count; i += 3) {
		u64 left = count - i;
		u32 word = (u32)bytes[i] << 16 | (left > 1 ? (u32)bytes[i + 1] << 8 : 0) |
			   (left > 2 ? bytes[i + 2] : 0);

		text[at++] = digits[word >> 18];
		text[at++] = digits[word >> 12 & 63];
		text[at++] = left > 1 ? digits[word >> 6 & 63] : '=';
		text[at++] = left > 2 ? digits[word & 63] : '=';
	}
	if (text)
		text[at] = 0;
	return text;
}
