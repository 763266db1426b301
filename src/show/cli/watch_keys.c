/* SPDX-License-Identifier: MIT
 * Keys of the screen; see watch_show.h. Host, on the thread that waits for the program; a snapshot
 * is written by a thread of its own. */
#define _GNU_SOURCE
#include "show/cli/watch_show.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/atomics.h"
#include "live/watch/snapshot.h"

enum { KEY_ESCAPE = 27, KEY_DELETE = 127, KEY_BACKSPACE = 8 };

void watch_keys_open(struct watch_keys *self)
{
	struct termios now;

	self->terminal = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (self->terminal < 0)
		return;
	if (tcgetpgrp(self->terminal) != getpgrp() ||
	    tcgetattr(self->terminal, &self->before) < 0) {
		close(self->terminal);
		self->terminal = -1;
		return;
	}
	now = self->before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C stays what it is */
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	tcsetattr(self->terminal, TCSANOW, &now);
}

void watch_keys_close(struct watch_keys *self)
{
	if (self->writing)
		pthread_join(self->writer, NULL);
	self->writing = false;
	if (self->terminal < 0)
		return;
	tcsetattr(self->terminal, TCSANOW, &self->before);
	close(self->terminal);
	self->terminal = -1;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void *snapshot_run(void *data)
{
	struct watch_keys *self = data;
	struct err err = {0};

	if (snapshot_write((u32)getpid(), self->path, &err) < 0)
		snprintf(self->problem, sizeof(self->problem), "%.511s", err.text);
	store_release(&self->written, 1); /* pairs with the acquire below: the problem is there */
	return NULL;
}

static void snapshot_begin(struct watch_keys *self, struct watch_view *view)
{
	if (self->writing)
		return;
	snprintf(self->path, sizeof(self->path), "heapwise-watch.%d.%u.hwt", (int)getpid(),
		 ++self->snapshots);
	self->problem[0] = 0;
	store_relaxed(&self->written, 0);
	self->writing = pthread_create(&self->writer, NULL, snapshot_run, self) == 0;
	snprintf(view->message, sizeof(view->message), "writing %s", self->path);
}

static bool snapshot_end(struct watch_keys *self, struct watch_view *view)
{
	if (!self->writing || !load_acquire(&self->written))
		return false;
	pthread_join(self->writer, NULL);
	self->writing = false;
	if (self->problem[0])
		snprintf(view->message, sizeof(view->message), "cannot write a snapshot: %.150s",
			 self->problem);
	else
		snprintf(view->message, sizeof(view->message), "snapshot written to %s",
			 self->path);
	return true;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void type_filter(struct watch_view *view, char key)
{
	size_t length = strlen(view->filter);

	if (key == '\n' || key == '\r') {
		view->typing = false;
	} else if (key == KEY_ESCAPE) {
		view->typing = false;
		view->filter[0] = 0;
	} else if (key == KEY_DELETE || key == KEY_BACKSPACE) {
		view->filter[length ? length - 1 : 0] = 0;
	} else if ((unsigned char)key >= ' ' && length + 1 < sizeof(view->filter)) {
		view->filter[length] = key;
		view->filter[length + 1] = 0;
	}
}

static bool press(struct watch_keys *self, struct watch_view *view, char key)
{
	if (view->typing) {
		type_filter(view, key);
		return true;
	}
	view->message[0] = 0;
	switch (key) {
	case 'p':
	case ' ': view->paused = !view->paused; return true;
	case 's': view->sort = (view->sort + 1) % WATCH_SORTS; return true;
	case '/':
		view->typing = true;
		view->filter[0] = 0;
		return true;
	case KEY_ESCAPE: view->filter[0] = 0; return true;
	case 'w': snapshot_begin(self, view); return true;
	case 'h':
	case '?': view->help = !view->help; return true;
	case 'q':
		snprintf(view->message, sizeof(view->message), "ending the program");
		if (self->program)
			kill((pid_t)self->program, SIGTERM);
		return true;
	}
	return false;
}

bool watch_keys_serve(struct watch_keys *self, struct watch_view *view)
{
	bool changed = snapshot_end(self, view);
	char keys[64];
	ssize_t count = self->terminal < 0 ? 0 : read(self->terminal, keys, sizeof(keys));

	for (ssize_t i = 0; i < count; i++)
		changed |= press(self, view, keys[i]);
	return changed;
}
