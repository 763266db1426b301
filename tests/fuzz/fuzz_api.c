/* SPDX-License-Identifier: MIT
 * Fuzz entry of the API: the first line of the input is a path below /api/v1/, the second the body, the others are parameters. The
 * answer of a small trace must be one, and what is no error must be JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/jsontree.h"
#include "show/serve/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- traces ---- */

static void tell_image(struct stream_sink *sink)
{
	struct stream_image image = {.start_ticks = 1000,
				     .flags = HW_RUN_ALLOC_STACKS,
				     .access = ACCESS_EXACT,
				     .program = "/bin/p",
				     .command = "p"};
	struct stream_module module = {.base = 0x1000,
				       .start = 0x1000,
				       .end = 0x9000,
				       .path = "/bin/p"};
	struct err err = {0};

	sink->image(sink->self, &image, &err);
	sink->module(sink->self, &module, &err);
	for (u32 i = 1; i < 9; i++) {
		struct stream_context context = {.id = i, .parent = i / 2, .pc = 0x1000 + 64 * i};

		sink->contexts(sink->self, &context, 1, &err);
	}
}

static void tell_chunk(struct stream_sink *sink, u64 i)
{
	struct event event = {.ticks = 1000 + 50 * i,
			      .kind = i % 5 ? HW_MALLOC : HW_REALLOC,
			      .context = (u32)(1 + i % 8),
			      .thread = i % 3,
			      .size = i * i % 700,
			      .chunk = i,
			      .address = 0x10000 + 1024 * i};
	struct stream_access access = {.chunk = i,
				       .first_ticks = event.ticks + 5,
				       .last_ticks = event.ticks + 15,
				       .reads = i,
				       .writes = i % 7,
				       .high = event.size,
				       .covered_bytes = UINT64_MAX};
	struct err err = {0};

	sink->events(sink->self, &event, 1, &err);
	event.kind = HW_FREE;
	event.ticks += 20 * (i % 90);
	if (i % 3)
		sink->events(sink->self, &event, 1, &err);
	if (i % 4)
		sink->accesses(sink->self, &access, 1, &err);
}

/* Each page of the blocks so far, and a mapping without any. */
static void tell_look(struct stream_sink *sink, u64 ticks, u64 pages)
{
	struct stream_resident rows[] = {
		{0x10000, pages * STREAM_PAGE, pages * STREAM_PAGE, MEMORY_BREAK, 0},
		{1ull << 40, 8 * STREAM_PAGE, 3 * STREAM_PAGE, MEMORY_ANONYMOUS, 0},
	};
	struct stream_memory memory = {.ticks = ticks,
				       .rss_bytes = (pages + 3) * STREAM_PAGE,
				       .rows = rows,
				       .count = 2};
	struct err err = {0};

	sink->memory(sink->self, &memory, &err);
}

static struct study *make_trace(const char *path, u64 chunks)
{
	struct study *trace = study_new(path, &view_options);
	struct model *model = model_new();
	struct stream_sink sink = model_sink(model);
	struct stream_clock clock = {.ticks = 90000, .ns = 200000};
	struct stream_image_end end = {.ticks = 90000, .how = IMAGE_EXITED};
	struct err err = {0};

	tell_image(&sink);
	for (u64 i = 0; i < chunks; i++) {
		tell_chunk(&sink, i);
		if (i % 64 == 63)
			tell_look(&sink, 1000 + 50 * i, 1 + i / 4);
	}
	sink.clock(sink.self, &clock, &err);
	sink.image_end(sink.self, &end, &err);
	trace->info.images = 1;
	if (study_take(trace, model, NULL, &err) < 0)
		abort();
	return trace;
}

/* ---- requests ---- */

static char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	return line;
}

static void read_parameters(struct request *request, char *text)
{
	while (*text && request->parameter_count < REQUEST_PARAMETERS) {
		char *line = next_line(&text), *value = strchr(line, '=');

		if (value)
			*value++ = 0;
		request->parameters[request->parameter_count++] =
			(struct request_parameter){line, value ? value : ""};
	}
}

static void check_answer(const struct answer *answer)
{
	struct arena arena = {0};
	struct err err = {0};

	if (!answer->status || (answer->status == 200 && !answer->body))
		abort();
	/* pages, columns and texts are other types */
	if (answer->body && !answer->type &&
	    !json_read(answer->body, answer->body_bytes, &arena, &err))
		abort();
	arena_release(&arena);
}

static void ask(struct api *api, struct request *request)
{
	struct site site = api_site(api);
	struct answer answer = {.coded = true};
	void *plan = NULL;

	if (site.find(site.self, request, &plan, &answer))
		site.run(site.self, request, plan, &answer);
	check_answer(&answer);
	answer_release(&answer);
	site.release(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct api api = {.version = "0"};
	char path[512], *text = calloc(size + 1, 1), *rest = text;
	struct request request = {.path = path};

	if (!api.count) {
		api.traces[api.count++] = make_trace("a", 300);
		api.traces[api.count++] = make_trace("b", 100);
		api_init(&api);
	}
	if (!text)
		return 0;
	memcpy(text, data, size);
	snprintf(path, sizeof path, "/api/v1/%s", next_line(&rest));
	request.body = next_line(&rest);
	request.body_bytes = strlen(request.body);
	request.method = request.body_bytes ? "POST" : "GET";
	read_parameters(&request, rest);
	ask(&api, &request);
	free(text);
	return 0;
}
