/* SPDX-License-Identifier: MIT
 * Reads perf's maps of generated code; see perfmap.h.
 * Host. Trusts nothing of the file. */
#include "host/symbols/perfmap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/io.h"
#include "host/base/order.h"
#include "host/base/search.h"

enum { BYTES_MAX = 256 << 20 };

/* Whether another process of that number wrote it, before this one started. Times of files are
 * those of the kernel's last tick, and clocks are set: what a program writes in its first
 * milliseconds may seem to be older than it. */
static bool is_older(const struct stat *about, u64 start_ns)
{
	enum { UNSURE_NS = 500000000 };
	i64 now = (i64)clock_ns(CLOCK_REALTIME), age = (i64)(now_ns() - start_ns);
	i64 written = about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec;

	return age < 0 || written < now - age - UNSURE_NS;
}

bool perf_map_find_file(u32 pid, u64 start_ns, char path[PERF_MAP_PATH])
{
	struct stat about;

	snprintf(path, PERF_MAP_PATH, "/tmp/perf-%u.map", pid);
	return lstat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
	       about.st_size <= BYTES_MAX && !is_older(&about, start_ns);
}

static int by_start(const void *a, const void *b)
{
	const struct perf_code *x = a, *y = b;

	/* names: their order in the file */
	return rising(x->start, y->start) ?: rising((u64)x->name, (u64)y->name);
}

/* One line, which it ends with a zero byte. */
static bool take_line(struct perf_map *self, char *line)
{
	struct perf_code code = {0};
	char *at = line;
	u64 size;

	code.start = strtoull(at, &at, 16);
	size = at != line && *at == ' ' ? strtoull(at, &at, 16) : 0;
	if (!size || *at != ' ' || !at[1] || code.start + size < code.start)
		return true; /* no line of such a file */
	code.end = code.start + size;
	code.name = at + 1;
	return vec_push(&self->codes, code);
}

bool perf_map_read(struct perf_map *self, const char *path)
{
	bool whole = io_read_file(path, BYTES_MAX, &self->text, NULL) == 0;
	char *line = whole ? self->text.text : NULL;

	while (whole && line && *line) {
		char *end = strchr(line, '\n');

		if (end)
			*end = 0;
		whole = take_line(self, line);
		line = end ? end + 1 : NULL;
	}
	if (whole && self->codes.count)
		qsort(self->codes.data, self->codes.count, sizeof(*self->codes.data), by_start);
	else
		perf_map_release(self);
	return self->codes.count > 0;
}

void perf_map_release(struct perf_map *self)
{
	vec_release(&self->codes);
	strbuf_release(&self->text);
	memset(self, 0, sizeof(*self));
}

const char *perf_map_find(const struct perf_map *self, u64 address)
{
	u64 low = bisect(at, self->codes.count, self->codes.data[at].start <= address);

	/* Code may lie in what an older, longer one was; a few steps back find that one. */
	for (u64 i = low; i > 0 && low - i < 16; i--)
		if (address < self->codes.data[i - 1].end)
			return self->codes.data[i - 1].name;
	return NULL;
}
