// SPDX-License-Identifier: MIT
// verdict: kind=steps function=text_add calls=1996000
// A writer of HTML pages: each piece makes the text larger by just as much as it needs.
#include "noise.h"

enum { PAGES = 4000, PIECES = 500 };

struct text {
	char *bytes;
	size_t length;
};

APART static void text_add(struct text *text, const char *piece)
{
	size_t length = strlen(piece);

	text->bytes = realloc(text->bytes, text->length + length + 1); /* the flaw: twice as much would do for long */
	memcpy(text->bytes + text->length, piece, length + 1);
	text->length += length;
}

static void page(struct text *text, unsigned number)
{
	char row[32];

	snprintf(row, sizeof row, "<td>%u</td>", number);
	for (unsigned i = 0; i < PIECES; i += 5) {
		text_add(text, "<tr>");
		text_add(text, row);
		text_add(text, "<td>some text</td>");
		text_add(text, row);
		text_add(text, "</tr>\n");
	}
}

APART static unsigned *checksum_table(unsigned number)
{
	unsigned *table = malloc(256 * sizeof *table);

	for (unsigned i = 0; i < 256; i++)
		table[i] = i * number;
	return table;
}

int main(void)
{
	unsigned sum = 0;

	noise_start();
	for (unsigned i = 0; i < PAGES; i++) {
		struct text text = {0};
		unsigned *table = checksum_table(i);

		page(&text, i);
		for (size_t k = 0; k < text.length; k++)
			sum = (sum << 1) ^ table[(unsigned char)text.bytes[k]];
		free(table);
		free(text.bytes);
		noise_turn(i);
	}
	printf("%u\n", sum);
	noise_end();
	return 0;
}
