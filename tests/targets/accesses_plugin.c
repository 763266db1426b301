/* SPDX-License-Identifier: MIT
 * A module that accesses_cpp loads. Its constructor runs before anything else of it. */
static volatile int began;
static int *volatile where;

static __attribute__((constructor(101))) void begin(void)
{
	static int place;

	where = &place;
	*where = 1; /* is checked, though it is not the heap's */
	began = *where;
}

void plugin_fill(volatile char *memory, int bytes);
void plugin_fill(volatile char *memory, int bytes)
{
	for (int i = 0; i < bytes; i++)
		memory[i] = (char)began;
}
