/* SPDX-License-Identifier: MIT
 * Which handler a request is for: one table of routes, which is also what the start page and the
 * documentation's test read. */
#ifndef SHOW_SERVE_ROUTER_H
#define SHOW_SERVE_ROUTER_H

#include "show/serve/request.h"

enum {
	ROUTE_TRACE = 1,   /* needs a trace that is loaded */
	ROUTE_SCOPE = 2,   /* and a selection: q, t0, t1, tm */
	ROUTE_CHANGES = 4, /* the answer may be another one the next time */
	ROUTE_LIGHT = 8,   /* takes no time: need not wait for its turn */
	/* looks at a selection as if nothing else had been recorded: q, t0, t1, tm */
	ROUTE_PART = 16,
};

enum { ROUTE_SEGMENTS = 2, SEGMENT_BYTES = 512 };

struct call; /* show/serve/api.h */

struct route {
	const char *method;
	const char *path;       /* "/api/v1/points/{id}": {name} is any text without a slash */
	const char *parameters; /* its own, with spaces between */
	u32 flags;              /* ROUTE_* */
	void (*handle)(struct call *call);
	const char *summary; /* one line */
};

/* What {names} of the path stood for. */
struct route_match {
	const struct route *route;
	char segments[ROUTE_SEGMENTS][SEGMENT_BYTES];
};

/* Parameters that each route with ROUTE_TRACE, ROUTE_SCOPE or ROUTE_PART knows. */
#define ROUTE_TRACE_PARAMETERS "trace format"
#define ROUTE_SCOPE_PARAMETERS "q t0 t1 tm at"
#define ROUTE_PART_PARAMETERS "q t0 t1 tm"

/* What a route's flags add to its own parameters; a text with spaces between. */
const char *route_common_parameters(const struct route *route);

/* The route of a request in a table that ends with method NULL; else false and the refusal. */
bool route_find(const struct route *table, const struct request *request, struct route_match *match,
		struct answer *refusal);

/* Whether the path is of this form; fills the segments. */
bool route_matches(const char *form, const char *path,
		   char segments[ROUTE_SEGMENTS][SEGMENT_BYTES]);

/* ---- values of parameters ---- */

/* These give the default if the parameter is missing, and false if it is not as it should be. */
bool parameter_number(const struct request *request, const char *name, u64 low, u64 high,
		      u64 *number);
bool parameter_real(const struct request *request, const char *name, double low, double high,
		    double *number);
bool parameter_bool(const struct request *request, const char *name, bool *value);
/* Time in ns, or with a unit: 812345678, 1.5s, 20ms. */
bool parameter_time(const char *text, u64 *ns);

#endif
