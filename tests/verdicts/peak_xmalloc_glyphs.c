// SPDX-License-Identifier: MIT
// verdict: kind=peak function=render_glyph not=xmalloc,xcalloc bytes=4608000 chunks=2000
// A text renderer: all memory comes by xmalloc and xcalloc. Glyphs are rendered at the largest size, and kept while it runs.
#include "noise.h"

enum { GLYPHS = 2000, SIDE = 48, LINES = 9000 };

static void *xmalloc(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		abort();
	return memory;
}

static void *xcalloc(size_t count, size_t size)
{
	return memset(xmalloc(count * size), 0, count * size);
}

struct font {
	unsigned char *glyphs[GLYPHS];
	unsigned short *kerning;
};

APART static unsigned char *render_glyph(unsigned code)
{
	unsigned char *pixels = xcalloc(SIDE, SIDE); /* the flaw: as large as they could ever be */

	for (unsigned i = 0; i < SIDE; i++)
		pixels[i * SIDE + (i * code) % SIDE] = 255;
	return pixels;
}

APART static struct font *font_open(void)
{
	struct font *font = xmalloc(sizeof *font);

	font->kerning = xcalloc(20000, sizeof *font->kerning);
	for (unsigned i = 0; i < GLYPHS; i++)
		font->glyphs[i] = render_glyph(i);
	return font;
}

APART static unsigned *layout(const struct font *font, const char *text)
{
	size_t length = strlen(text);
	unsigned *at = xmalloc(length * sizeof *at);

	for (size_t i = 0; i < length; i++)
		at[i] = (unsigned)i * 8 + font->kerning[(unsigned char)text[i]] + font->glyphs[(unsigned char)text[i]][i % SIDE];
	return at;
}

static void font_close(struct font *font)
{
	for (unsigned i = 0; i < GLYPHS; i++)
		free(font->glyphs[i]);
	free(font->kerning);
	free(font);
}

int main(void)
{
	struct font *font;
	unsigned width = 0;

	noise_start();
	font = font_open();
	for (unsigned i = 0; i < LINES; i++) {
		char *line = xmalloc(80 + i % 40);
		unsigned *at;

		noise_fill(line, 80 + i % 40);
		at = layout(font, line);
		width += at[70];
		free(at);
		free(line);
		noise_turn(i);
	}
	printf("%u\n", width);
	font_close(font);
	noise_end();
	return 0;
}
