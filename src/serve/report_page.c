/* SPDX-License-Identifier: MIT
 * Host. web/dist/report.html is the page, with a place for data. Each answer is a block of base64, of gzip where that is smaller, named by
 * its question with the parameters in the order of their names: as web/src/lib/source.ts asks. What a view asks for
 * beyond these is not in the report, and the page says so. */
#define _GNU_SOURCE
#include "serve/report_page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "serve/assets.h"

enum {
	POINT_PAGE = 100, /* as the page asks for them */
	POINTS_MAX = 1000,
	DETAILS_MAX = 200,
	CHUNKS_MAX = 50, /* points whose chunks are in the report */
};

struct report {
	struct api *api;
	struct site site;
	FILE *out;
	struct err *err;
	bool failed;
};

/* Cuts "name=value&..." into parameters; none of ours needs decoding. */
static void add_parameters(struct request *request, char *query)
{
	while (query && *query) {
		char *next = strchr(query, '&'), *value = strchr(query, '=');

		if (next)
			*next++ = 0;
		*value++ = 0;
		request->parameters[request->parameter_count++] =
			(struct request_parameter){.name = query, .value = value};
		query = next;
	}
}

static void answer_to(struct report *self, const struct request *request, struct answer *answer)
{
	void *plan = NULL;

	if (self->site.find(self->site.self, request, &plan, answer))
		self->site.run(self->site.self, request, plan, answer);
	self->site.release(plan);
}

static void put_block(struct report *self, const char *question, struct answer *answer)
{
	char *text;

	answer_compress(answer);
	text = base64_text((const u8 *)answer->body, answer->body_bytes);
	if (!text) {
		self->failed = true;
		err_set(self->err, ERR_MEMORY, "out of memory");
	} else {
		fprintf(self->out, "<script type=\"text/plain\" data-k=\"%s\">%s</script>\n", question, text);
	}
	free(text);
}

/* Asks, and puts the answer into the report. What cannot be answered (no access data, no types) is left out:
 * the page says what is missing. */
__attribute__((format(printf, 2, 3))) static void put(struct report *self, const char *format, ...)
{
	struct request request = {.method = "GET", .hosts = 1};
	struct answer answer = {.coded = true};
	char *question = NULL, *address = NULL, *query;
	va_list arguments;
	int length;

	if (self->failed)
		return;
	va_start(arguments, format);
	length = vasprintf(&question, format, arguments);
	va_end(arguments);
	if (length < 0 || asprintf(&address, "/api/v1%s", question) < 0) {
		self->failed = true;
		err_set(self->err, ERR_MEMORY, "out of memory");
		free(question);
		return;
	}
	query = strchr(address, '?');
	if (query)
		*query++ = 0;
	request.path = address;
	add_parameters(&request, query);
	answer_to(self, &request, &answer);
	if (answer.status == 200 && answer.body)
		put_block(self, question, &answer);
	answer_release(&answer);
	free(address);
	free(question);
}

static void put_views(struct report *self, const struct view_trace *trace, u64 end_ns)
{
	static const char *const metrics[] = {"bytes", "allocs", "peak", "leaked", "temporary"};
	static const char *const groups[] = {"none", "type", "module", "thread", "size", "point", "sev"};
	static const char *const lines[] = {"live", "chunks", "alloc_bytes", "allocs", "frees"};
	static const char *const tables[] = {"leaks", "bins", "direct", "graph"};
	static const char *const sorts[] = {"peak", "bytes", "count", "kept"};
	u64 points = trace->model->points.count;

	put(self, "/status");
	put(self, "/trace");
	put(self, "/overview?top=10");
	put(self, "/timeline?bins=1");
	put(self, "/timeline?bins=800&by=none&metric=live");
	for (u32 i = 0; i < 7; i++)
		for (u32 k = 0; k < 5; k++)
			put(self, "/timeline?bins=800&by=%s&metric=%s&top=12", groups[i], lines[k]);
	for (u32 i = 0; i < 5; i++) {
		put(self, "/flame?dir=down&metric=%s&px=1600", metrics[i]);
		put(self, "/flame?dir=up&metric=%s&px=1600", metrics[i]);
	}
	put(self, "/flame?at=%llu&dir=down&metric=live&px=1600", (unsigned long long)end_ns);
	for (u64 first = 0; first < points && first < POINTS_MAX; first += POINT_PAGE)
		put(self, "/points?limit=%d&offset=%llu&sort=-sev&spark=64", POINT_PAGE,
		    (unsigned long long)first);
	for (u64 i = 0; i < points && i < DETAILS_MAX; i++)
		put(self, "/points/%llu", (unsigned long long)i);
	put(self, "/chunks?lane=row&order=time&px=1200&x0=0&x1=%llu", (unsigned long long)end_ns);
	for (u64 i = 0; i < points && i < CHUNKS_MAX; i++)
		put(self, "/chunks?lane=row&order=time&point=%llu&px=1200&x0=0&x1=%llu",
		    (unsigned long long)i, (unsigned long long)end_ns);
	for (u32 i = 0; i < 4; i++) {
		put(self, "/types?sort=%s&top=500", sorts[i]);
		put(self, "/types?fold=template&sort=%s&top=500", sorts[i]);
		put(self, "/mprof/%s?limit=500", tables[i]);
	}
	put(self, "/emad");
	put(self, "/threads");
	put(self, "/callgraph?down=2&min=0.005&up=2");
}

int report_page_write(struct api *api, FILE *out, struct err *err)
{
	static const char place[] = "<!--DATA-->\n";
	const struct asset *page = asset_find("report.html");
	struct report self = {.api = api, .site = api_site(api), .out = out, .err = err};
	const u8 *data = memmem(page->data, (size_t)(page->end - page->data), place, sizeof place - 1);

	fwrite(page->data, 1, (size_t)(data - page->data), out);
	put_views(&self, api->traces[0], model_duration_ns(api->traces[0]->model));
	data += sizeof place - 1;
	fwrite(data, 1, (size_t)(page->end - data), out);
	if (self.failed)
		return err->code;
	return ferror(out) ? err_set(err, ERR_SYSTEM, "cannot write the report") : 0;
}
