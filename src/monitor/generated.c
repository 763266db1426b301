/* SPDX-License-Identifier: MIT
 * Code that the program generated and named in /tmp/perf-PID.map is told as modules, when the image ends: which
 * addresses are code is known then. Runs on the drain thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "monitor/image.h"
#include "symbols/perfmap.h"

enum { GAP = 64 << 10, RANGES_MAX = 1000 };

static bool overlaps_module(const struct image *self, u64 start, u64 end)
{
	for (u64 i = 0; i < self->modules.count; i++) {
		const struct stream_module *module = &self->modules.data[i].told;

		if (start < module->end && module->start < end)
			return true;
	}
	return false;
}

static int range_tell(struct image *self, const char *path, u64 start, u64 end, struct err *err)
{
	struct image_module module = {
		.told = { .id = (u32)self->modules.count, .start = start, .end = end },
		.path = strdup(path),
		.build_id = malloc(1),
	};
	struct stream_module told = module.told;

	if (!module.path || !module.build_id || !vec_push(&self->modules, module)) {
		free(module.path);
		free(module.build_id);
		return err_set(err, ERR_MEMORY, "out of memory for modules");
	}
	told.path = module.path;
	told.build_id = module.build_id;
	return self->sink.module ? self->sink.module(self->sink.self, &told, err) : 0;
}

/* Functions that lie close together are one range; a range in which a library lies, too, is left out. */
int image_tell_generated(struct image *self, struct err *err)
{
	struct perf_map map = { 0 };
	char path[64];
	int status = 0;
	u32 count = 0;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", load_relaxed(&self->berth.control->pid));
	if (!perf_map_read(&map, path))
		return 0;
	for (u64 i = 0, next; i < map.codes.count && status == 0 && count < RANGES_MAX; i = next, count++) {
		u64 end = map.codes.data[i].end;

		for (next = i + 1; next < map.codes.count && map.codes.data[next].start <= end + GAP; next++)
			if (map.codes.data[next].end > end)
				end = map.codes.data[next].end;
		if (!overlaps_module(self, map.codes.data[i].start, end))
			status = range_tell(self, path, map.codes.data[i].start, end, err);
	}
	perf_map_release(&map);
	return status;
}
