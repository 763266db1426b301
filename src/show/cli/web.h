/* SPDX-License-Identifier: MIT
 * What commands have in common that show something in a browser. */
#ifndef SHOW_CLI_WEB_H
#define SHOW_CLI_WEB_H

#include <signal.h>

#include "show/cli/command.h"
#include "show/serve/server.h"
#include "study/open/study.h"

/* Opens the server's socket at ADDRESS (a number) and port. */
int web_open(struct server *server, const char *address, u64 port, struct err *err);

/* The same at a path in the file system. */
int web_open_socket(struct server *server, const char *path, struct err *err);

/* Where queries of the user's own are kept; NULL = nowhere. The caller's to free. */
char *web_graphs_folder(void);

/* Says where an index was written that nobody asked for, how large it is and how to remove it. */
void web_say_index(const struct study *trace);

/* Says so if other machines can reach the server. */
void web_warn(const struct server *server);

/* Shows the address in the browser of $BROWSER, or else of the desktop. */
void web_browser_open(const struct command *command, const char *url);

/* Blocks what ends a server, before its threads are made; *before is for pthread_sigmask. */
void web_signals_block(sigset_t *signals, sigset_t *before);

/* Waits for one of them; seconds 0 = however long it takes. */
void web_signals_wait(const sigset_t *signals, u64 seconds);

#endif
