/* SPDX-License-Identifier: MIT
 * The web page, file by file, and a list of what else is served: plain HTML without scripts, in
 * which all that comes from outside is escaped. Runs on threads of the server. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/text.h"
#include "host/base/units.h"
#include "show/serve/api.h"
#include "show/serve/assets.h"

static void put_traces(FILE *out, const struct api *api)
{
	fputs("<h2>Traces</h2>\n<ul>\n", out);
	for (u32 i = 0; i < api->count; i++) {
		struct study_progress progress = api_progress(api, i);
		struct study_file file = study_file(api->traces[i]);

		fputs("<li><a href=\"/api/v1/trace?trace=", out);
		text_put_xml(out, file.id);
		fputs("\">", out);
		text_put_xml(out, api->traces[i]->name);
		fprintf(out, "</a>, %s, ", units_bytes(file.bytes).text);
		text_put_xml(out,
			     progress.state == STUDY_FAILED ? progress.err.text : progress.phase);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

/* Links only where they work without anything filled in. */
static void put_route(FILE *out, const struct route *route)
{
	bool link = strcmp(route->method, "GET") == 0 && !strchr(route->path, '{');

	fprintf(out, "<tr><td>%s</td><td>", route->method);
	if (link) {
		fputs("<a href=\"", out);
		text_put_xml(out, route->path);
		fputs("\">", out);
	}
	text_put_xml(out, route->path);
	fprintf(out, "%s</td><td>", link ? "</a>" : "");
	text_put_xml(out, route->summary);
	fputs("</td><td>", out);
	text_put_xml(out, route->parameters);
	fprintf(out, " %s", route_common_parameters(route));
	fputs("</td></tr>\n", out);
}

void api_list(struct call *call)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out) {
		answer_refuse(call->answer, 500, "out of memory");
		return;
	}
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<title>Heapwise</title>\n</head>\n<body>\n<h1>Heapwise ",
	      out);
	text_put_xml(out, call->api->version);
	fputs("</h1>\n", out);
	put_traces(out, call->api);
	fputs("<h2>Endpoints</h2>\n<table>\n<thead><tr><th>method</th><th>path</th><th>what</th>"
	      "<th>parameters</th></tr></thead>\n<tbody>\n",
	      out);
	for (const struct route *route = api_routes; route->method; route++)
		put_route(out, route);
	fputs("</tbody>\n</table>\n</body>\n</html>\n", out);
	fclose(out);
	reply_text(call, "text/html; charset=utf-8", text, bytes);
	call->answer->is_page = true;
}

static void send_asset(struct call *call, const char *name)
{
	const struct asset *asset = asset_find(name);
	size_t bytes = asset ? (size_t)(asset->end - asset->data) : 0;
	char *copy = asset ? malloc(bytes + 1) : NULL;

	if (!asset) {
		answer_refuse(call->answer, 404, "there is no such page");
		return;
	}
	if (copy)
		memcpy(copy, asset->data, bytes);
	reply_text(call, asset->type, copy, bytes);
	call->answer->is_page = true;
}

void api_page(struct call *call) { send_asset(call, "index.html"); }

void api_asset(struct call *call) { send_asset(call, call->match->segments[0]); }
