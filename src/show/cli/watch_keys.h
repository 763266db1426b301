/* SPDX-License-Identifier: MIT
 * Keys of the screen of `heapwise watch`: pause, sort, filter, snapshot, help, quit. Read from the
 * terminal itself, because standard input is the program's. */
#ifndef SHOW_CLI_WATCH_KEYS_H
#define SHOW_CLI_WATCH_KEYS_H

#include <pthread.h>
#include <termios.h>

#include "show/cli/watch_show.h"

struct watch_keys {
	int terminal; /* -1 = there is none */
	struct termios before;
	u32 program; /* its pid, to be ended by q; 0 = not known */
	u32 snapshots;
	pthread_t writer; /* of a snapshot */
	bool writing;
	u32 written; /* writer, released: 1 = it is done */
	char path[64], problem[512];
};

/* Takes the terminal's keys, if we are in its foreground. */
void watch_keys_open(struct watch_keys *self);
void watch_keys_close(struct watch_keys *self);

/* Does what was typed; true if the screen is to be drawn anew. */
bool watch_keys_serve(struct watch_keys *self, struct watch_view *view);

#endif
