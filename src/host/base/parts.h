/* SPDX-License-Identifier: MIT
 * Where the files are that Heapwise loads into programs, links into them or runs: recorders, stubs,
 * the Valgrind tool. Nothing of it is a fixed path: a build folder works in place, and an installed
 * tree may be moved. */
#ifndef HOST_BASE_PARTS_H
#define HOST_BASE_PARTS_H

#include <stdbool.h>

#include "host/base/err.h"

enum { PARTS_PATH = 4096 };

/* The folder of the program that runs; "" if the system does not tell. */
void parts_own_folder(char folder[PARTS_PATH]);

/* Finds a file of ours by its name, seen from the folder of a program or library of ours. path is
 * absolute and without links; "" if it is nowhere. */
bool parts_find(const char *folder, const char *name, char path[PARTS_PATH]);

/* LD_PRELOAD cannot name a file whose path has a blank or a colon: the path becomes one through a
 * link to its folder, in a folder of the user's own for temporary files. The link stays, because
 * processes that outlive us may still exec. 0 or a negative code. */
int parts_preloadable(char path[PARTS_PATH], struct err *err);

/* The places that are tried in an installed tree, for messages: "../lib/heapwise". */
const char *parts_installed(void);

#endif
