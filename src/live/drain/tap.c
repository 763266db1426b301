/* SPDX-License-Identifier: MIT
 * Events to two sinks; see tap.h. Runs on the drain thread. */
#include "live/drain/tap.h"

#define BOTH(self_, function, ...)                                                                 \
	struct tap_tee *tee = self_;                                                               \
	int status = stream_tell(&tee->first, function, __VA_ARGS__);                              \
                                                                                                   \
	return status == 0 ? stream_tell(&tee->second, function, __VA_ARGS__) : status

#define TEE_ONE(function, type)                                                                    \
	static int both_##function(void *self, const struct type *one, struct err *err)            \
	{                                                                                          \
		BOTH(self, function, one, err);                                                    \
	}
#define TEE_ROWS(function, type)                                                                   \
	static int both_##function(void *self, const struct type *rows, u64 count,                 \
				   struct err *err)                                                \
	{                                                                                          \
		BOTH(self, function, rows, count, err);                                            \
	}

TEE_ONE(image, stream_image)
TEE_ONE(module, stream_module)
TEE_ONE(thread, stream_thread)
TEE_ROWS(contexts, stream_context)
TEE_ROWS(events, event)
TEE_ONE(clock, stream_clock)
TEE_ONE(usage, stream_usage)
TEE_ONE(memory, stream_memory)
TEE_ROWS(aggregates, stream_aggregate)
TEE_ONE(graph, stream_graph)
TEE_ROWS(accesses, stream_access)
TEE_ROWS(routines, stream_routine)
TEE_ROWS(types, stream_type)
TEE_ONE(name, stream_name)
TEE_ONE(image_end, stream_image_end)

static int both_scan(void *self, const struct stream_scan *scan, const struct stream_class *classes,
		     u64 count, struct err *err)
{
	BOTH(self, scan, scan, classes, count, err);
}

static int both_note(void *self, const char *key, const char *value, struct err *err)
{
	BOTH(self, note, key, value, err);
}

struct stream_sink tap_join(struct tap_tee *self, const struct stream_sink *first,
			    const struct stream_sink *second)
{
	self->first = *first;
	self->second = *second;
	return (struct stream_sink){
		.self = self,
		.image = both_image,
		.module = both_module,
		.thread = both_thread,
		.contexts = both_contexts,
		.events = both_events,
		.clock = both_clock,
		.usage = both_usage,
		.memory = both_memory,
		.aggregates = both_aggregates,
		.scan = both_scan,
		.graph = both_graph,
		.accesses = both_accesses,
		.routines = both_routines,
		.types = both_types,
		.name = both_name,
		.image_end = both_image_end,
		.note = both_note,
	};
}
