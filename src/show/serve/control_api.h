/* SPDX-License-Identifier: MIT
 * The verbs of `heapwise ctl` as resources: GET /api/v1/control lists them, GET or POST
 * /api/v1/control/VERB[?pid=N] runs one. Without pid all recorded processes are meant. */
#ifndef SHOW_SERVE_CONTROL_API_H
#define SHOW_SERVE_CONTROL_API_H

#include "live/control/control.h"
#include "show/serve/request.h"
#include "show/serve/site.h"

/* What a request is for. */
struct control_route {
	const struct control_verb *verb; /* NULL = the list */
	struct process *process;         /* NULL = all */
};

/* False, and `refusal` is filled: unknown path, wrong method, no such process. Never waits. */
bool control_api_find(struct control *control, const struct request *request,
		      struct control_route *route, struct answer *refusal);

/* Does it and fills the answer; may wait as long as the verb does. */
void control_api_run(struct control *control, const struct control_route *route,
		     struct answer *answer);

/* The lines of a verb's reply as a JSON object: decimal numbers are numbers, the rest is text, and
 * what is to be kept in mind is the list `caveats`. Changes the text. */
void control_api_object(char *lines, struct answer *answer);

/* What a server of `heapwise run --listen` serves. */
struct site control_site(struct control *control);

#endif
