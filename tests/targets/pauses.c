/* SPDX-License-Identifier: MIT
 * Allocates while recording is paused and frees in the pause and after it, none of which is wrong. */
#include <stdlib.h>

#include "heapwise/heapwise.h"

int main(void)
{
	void *before = malloc(10), *in_pause, *freed_in_pause;

	heapwise_pause();
	in_pause = malloc(20);
	freed_in_pause = malloc(30);
	free(freed_in_pause);
	heapwise_resume();
	free(in_pause);
	free(before);
	return 0;
}
