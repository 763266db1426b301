/* SPDX-License-Identifier: MIT
 * Functions with names that no compiler gives: markup, bytes that are no UTF-8, text from right to left,
 * quotes, and 20,000 characters. What shows them must show them as text. */
#include <stdlib.h>

#define TEN(x) x x x x x x x x x x
#define LONG_NAME TEN(TEN(TEN("abcdefghijklmnopqrst")))

#define ALLOCATOR(function, symbol)                                                                \
	void *function(size_t bytes) __asm__("\"" symbol "\"");                                    \
	__attribute__((noinline)) void *function(size_t bytes)                                     \
	{                                                                                          \
		char *block = malloc(bytes);                                                       \
                                                                                                   \
		if (block)                                                                         \
			block[0] = 1;                                                              \
		return block;                                                                      \
	}

ALLOCATOR(markup, "<img src=x onerror=window.__pwned=1>")
ALLOCATOR(script, "</script><script>window.__pwned=2</script>")
ALLOCATOR(broken, "bad\xff\xfe\xc0name")
ALLOCATOR(turned, "\xe2\x80\xae" "emanfles")
ALLOCATOR(quoted, "it's a ${window.__pwned=3} `name`")
ALLOCATOR(endless, LONG_NAME)

int main(void)
{
	void *(*const all[])(size_t) = {markup, script, broken, turned, quoted, endless};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		for (size_t j = 0; j < 200; j++) {
			void *block = all[i](100 + j);

			if (j % 2)
				free(block);
		}
	return 0;
}
