/* SPDX-License-Identifier: MIT
 * Names of code that a program generates: /tmp/perf-PID.map, as runtimes write it for perf, a line
 * "START SIZE NAME" in hexadecimal for each function. */
#ifndef HOST_SYMBOLS_PERFMAP_H
#define HOST_SYMBOLS_PERFMAP_H

#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"

struct perf_code {
	u64 start, end;
	const char *name;
};

struct perf_map {                    /* all zero = empty */
	VEC(struct perf_code) codes; /* by start */
	struct strbuf text;
};

enum { PERF_MAP_PATH = 40 };

/* The name of a process's file. False if there is none that is this user's (others could write one
 * under any number) and was written since the process began, by CLOCK_MONOTONIC: numbers of
 * processes come again. */
bool perf_map_find_file(u32 pid, u64 start_ns, char path[PERF_MAP_PATH]);

/* False if it cannot be read or has no names; the map is empty then. */
bool perf_map_read(struct perf_map *self, const char *path);
void perf_map_release(struct perf_map *self);

/* The function at an address, or NULL. Of several, for code that was replaced, the last one in the
 * file. */
const char *perf_map_find(const struct perf_map *self, u64 address);

#endif
