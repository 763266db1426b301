/* SPDX-License-Identifier: MIT
 * Fuzz entry of requests: lines of the input are the method, the path, headers and parameters of a request,
 * which is checked and routed; its values are read in every way that handlers read them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "show/serve/api.h"
#include "show/serve/graph_store.h"
#include "show/serve/guard.h"
#include "study/layout/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next line, cut off in place; "" at the end. */
static const char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	return line;
}

static void read_parameters(struct request *request, char *text)
{
	while (*text) {
		char *line = (char *)next_line(&text), *value = strchr(line, '=');

		if (value)
			*value++ = 0;
		if (request->parameter_count < REQUEST_PARAMETERS)
			request->parameters[request->parameter_count] =
				(struct request_parameter){line, value ? value : ""};
		request->parameter_count++;
	}
}

static void read_values(const struct request *request)
{
	for (u32 i = 0; i < request->parameter_count && i < REQUEST_PARAMETERS; i++) {
		const char *name = request->parameters[i].name,
			   *value = request->parameters[i].value;
		struct view_pattern pattern;
		struct err err;
		double real = 0;
		u64 number = 0;
		bool yes;

		if (parameter_number(request, name, 5, 500, &number) && number &&
		    (number < 5 || number > 500))
			abort();
		if (parameter_real(request, name, -1, 1, &real) && !(real >= -1 && real <= 1))
			abort();
		parameter_bool(request, name, &yes);
		parameter_time(value, &number);
		if (graph_name_is_valid(value) && (strchr(value, '/') || *value == '.'))
			abort();
		if (view_pattern_init(&pattern, value, &err) == 0)
			view_pattern_matches(&pattern, "std::vector<int>::push_back(int const&)");
		view_pattern_release(&pattern);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char token[] = "00112233445566778899aabbccddeeff";
	const struct guard guard = {.token = token,
				    .cookie = "heapwise-80",
				    .methods = "GET, POST",
				    .body_max = API_BODY_MAX};
	struct route_match *match = calloc(1, sizeof *match);
	char *text = calloc(size + 1, 1), *rest = text;
	struct answer refusal = {.coded = true};
	union listen_address local;
	struct request request = {0};
	struct err err;
	size_t bytes;

	if (!text || !match)
		return 0;
	memcpy(text, data, size);
	request.method = next_line(&rest);
	request.path = next_line(&rest);
	request.host = next_line(&rest);
	request.hosts = 1;
	request.cookie = next_line(&rest);
	request.accept = next_line(&rest);
	request.body_length = next_line(&rest);
	read_parameters(&request, rest);
	cookie_find(request.cookie, guard.cookie, &bytes);
	header_has(request.accept, "gzip");
	if (listen_parse(&local, "80", &err) == 0 &&
	    guard_admits(&guard, &request, &local, &refusal) && !strstr(request.cookie, token))
		abort(); /* nobody else gets in */
	answer_release(&refusal);
	refusal.coded = true;
	route_find(api_routes, &request, match, &refusal);
	answer_release(&refusal);
	read_values(&request);
	free(match);
	free(text);
	return 0;
}
