/* SPDX-License-Identifier: MIT
 * The socket by which `heapwise ctl` reaches a monitor: MONITOR_PID.sock, mode 0600, in a folder of
 * mode 0700 that belongs to the user. Only that user is served.
 *
 * The talk is one line each way, and then more: the client sends "VERB PID\n"; the server answers
 * "ok\n", "unknown\n" (it does not record that process) or "error TEXT\n", after ok the lines of
 * the verb's reply, and closes. */
#ifndef LIVE_CONTROL_CONTROL_SERVER_H
#define LIVE_CONTROL_CONTROL_SERVER_H

#include <pthread.h>

#include "live/control/control.h"

struct control_server {
	struct control *control;
	int socket;  /* -1 = there is none */
	int stop[2]; /* pipe: a byte ends the thread */
	char folder[64], path[96];
	pthread_t thread;
};

/* Serves from a thread of its own. A failure, with err, leaves the recording as it is. */
int control_server_start(struct control_server *self, struct control *control, struct err *err);
void control_server_stop(struct control_server *self);

/* Where sockets may be, best first; NULL after the last. The buffer is the caller's. */
const char *control_folder(u32 index, char buffer[64]);

/* Whether it is there and the user's alone: in /tmp anybody may have made it. */
bool control_folder_is_ours(const char *folder);

/* Client: has the monitor that records `pid` (or that is `pid`) run a verb. Appends the lines of
 * its reply. ERR_INPUT: nobody records it, or the verb failed; ERR_USAGE: it is not known there. */
int control_call(u32 pid, const char *verb, struct strbuf *reply, struct err *err);

#endif
