/* SPDX-License-Identifier: MIT
 * A line on the terminal that says what a command does, if that takes more than a second: "reading
 * my.hwt: 45 %". It goes away before anything is printed. Nothing happens unless standard error is
 * a terminal. */
#ifndef SHOW_CLI_PROGRESS_H
#define SHOW_CLI_PROGRESS_H

/* What is done now: "reading", and to what. The path is kept until the next call. */
void progress_phase(const char *doing, const char *path);

/* How much of it, 0 to 1; fits the callbacks of rooms that read. */
void progress_share(void *unused, double share);

/* Before anything is printed. Any number of times. */
void progress_end(void);

#endif
