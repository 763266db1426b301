/* SPDX-License-Identifier: MIT
 * Converters that libc loads and unloads by itself: modules come, go and give their addresses to
 * others without any call of dlclose that the recorder could see. */
#include "stacks.h"

#include <iconv.h>
#include <string.h>

static const char *const charsets[] = {
	"ISO-8859-2", "CP1250", "KOI8-R", "EUC-JP", "SHIFT_JIS", "BIG5", "GBK", "EUC-KR", "CP437",
	"MACINTOSH", "ISO-8859-15", "CP1252", "TIS-620", "GB18030", "ISO-2022-JP", "UTF-7",
	"IBM1047", "ARMSCII-8", "HP-ROMAN8", "VISCII", "TCVN", "CP932", "UHC", "JOHAB",
};

static NOINLINE int convert(const char *charset)
{
	char in[] = "plain text", out[256];
	char *from = in, *to = out;
	size_t in_left = sizeof in, out_left = sizeof out;
	iconv_t converter = iconv_open(charset, "ISO-8859-1");

	if (converter == (iconv_t)-1)
		return 0;
	stacks_touch(99);
	iconv(converter, &from, &in_left, &to, &out_left);
	iconv_close(converter);
	stacks_touch(98);
	return 1;
}

int main(void)
{
	int converted = 0;

	for (int round = 0; round < 4; round++)
		for (unsigned i = 0; i < sizeof charsets / sizeof *charsets; i++)
			converted += convert(charsets[i]);
	if (converted == 0) {
		fputs("no converter is installed\n", stderr);
		return 77;
	}
	return stacks_done();
}
