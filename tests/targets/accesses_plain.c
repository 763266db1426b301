/* SPDX-License-Identifier: MIT
 * Part of accesses_cpp that is compiled without instrumentation. */
void plain_fill(char *memory, int bytes);
void plain_fill(char *memory, int bytes)
{
	for (int i = 0; i < bytes; i++)
		((volatile char *)memory)[i] = 1;
}
