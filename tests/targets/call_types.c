/* SPDX-License-Identifier: MIT
 * Calls the functions of call_types.S, and keeps what they give. */
#include <stdlib.h>

void *make_point(void), *make_cells(void), *make_links(void), *make_plain(void), *make_closure(void);

void *volatile kept[5];

int main(void)
{
	kept[0] = make_point();
	kept[1] = make_cells();
	kept[2] = make_links();
	kept[3] = make_plain();
	kept[4] = make_closure();
	return 0;
}
