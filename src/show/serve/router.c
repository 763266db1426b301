/* SPDX-License-Identifier: MIT
 * Paths and parameters; see router.h. Runs on threads of the server. Everything here comes from
 * strangers. */
#include "show/serve/router.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/options.h"

bool route_matches(const char *form, const char *path, char segments[ROUTE_SEGMENTS][SEGMENT_BYTES])
{
	u32 segment = 0;

	while (*form) {
		size_t bytes;

		if (*form != '{') {
			if (*form++ != *path++)
				return false;
			continue;
		}
		bytes = strcspn(path, "/");
		if (!bytes || bytes >= SEGMENT_BYTES || segment == ROUTE_SEGMENTS)
			return false;
		memcpy(segments[segment], path, bytes);
		segments[segment++][bytes] = 0;
		path += bytes;
		form += strcspn(form, "}") + 1;
	}
	return !*path;
}

const char *route_common_parameters(const struct route *route)
{
	if (route->flags & ROUTE_SCOPE)
		return ROUTE_TRACE_PARAMETERS " " ROUTE_SCOPE_PARAMETERS;
	if (route->flags & ROUTE_PART)
		return ROUTE_TRACE_PARAMETERS " " ROUTE_PART_PARAMETERS;
	return route->flags & ROUTE_TRACE ? ROUTE_TRACE_PARAMETERS : "";
}

static bool parameters_known(const struct route *route, const struct request *request,
			     struct answer *refusal)
{
	const char *stranger;
	char names[512];

	snprintf(names, sizeof names, "%s %s", route->parameters, route_common_parameters(route));
	if (request->parameter_count > REQUEST_PARAMETERS)
		return answer_refuse(refusal, 400, "too many parameters: at most %d are allowed",
				     REQUEST_PARAMETERS);
	stranger = request_stranger(request, names);
	if (stranger)
		return answer_refuse(refusal, 400, "unknown parameter '%.64s'", stranger);
	return true;
}

bool route_find(const struct route *table, const struct request *request, struct route_match *match,
		struct answer *refusal)
{
	for (const struct route *route = table; route->method; route++) {
		if (!route_matches(route->path, request->path, match->segments))
			continue;
		refusal->allow = route->method;
		if (strcmp(route->method, request->method) != 0)
			continue;
		refusal->allow = NULL;
		match->route = route;
		return parameters_known(route, request, refusal);
	}
	if (refusal->allow)
		return answer_refuse(refusal, 405, "method not allowed; use %s", refusal->allow);
	return answer_refuse(refusal, 404,
			     "there is nothing at this address; / lists all addresses");
}

/* ---- values ---- */

bool parameter_number(const struct request *request, const char *name, u64 low, u64 high,
		      u64 *number)
{
	const char *text = request_parameter(request, name);

	return !text || (parse_number(text, number) && *number >= low && *number <= high);
}

bool parameter_real(const struct request *request, const char *name, double low, double high,
		    double *number)
{
	const char *text = request_parameter(request, name);
	char *end;

	if (!text)
		return true;
	*number = strtod(text, &end);
	return end != text && !*end && isfinite(*number) && *number >= low && *number <= high;
}

bool parameter_bool(const struct request *request, const char *name, bool *value)
{
	const char *text = request_parameter(request, name);

	if (!text)
		return true;
	*value = strcmp(text, "1") == 0;
	return *value || strcmp(text, "0") == 0;
}

bool parameter_time(const char *text, u64 *ns)
{
	double real;

	if (parse_number(text, ns))
		return true;
	if (!parse_ns(text, 0, NULL, &real) || real >= 9e18)
		return false;
	*ns = (u64)llround(real);
	return true;
}
