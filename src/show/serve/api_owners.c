/* SPDX-License-Identifier: MIT
 * Who holds the memory, over HTTP. Runs on threads of the server; analyses take turns. */
#include "show/serve/api.h"
#include "study/analysis/owners/result.h"
#include "study/layout/owners.h"

enum { ROWS_MAX = 500 };

/* At the scan that the call asks for; NULL and err on failure. */
static struct owners *owners_of(struct call *call, struct err *err)
{
	return view_owners(call->trace, call_text(call, "at") ? &call->at_ns : NULL, err);
}

void api_owners(struct call *call)
{
	static const double share[2] = {0, 1};
	struct owners_show show = {.top = 50, .min_share = 0.001};
	struct result *result = NULL;
	struct err err = {0};
	struct owners *owners;

	if (!call_number(call, "top", 0, ROWS_MAX, &show.top) ||
	    !call_time(call, "at", &call->at_ns) ||
	    !call_real(call, "min", share, "a share from 0 to 1", &show.min_share))
		return;
	owners = owners_of(call, &err);
	if (owners && !call_text(call, "at"))
		show.growth = view_growth(call->trace, show.top, &err);
	if (owners && !err.code) {
		pthread_mutex_lock(&call->trace->analysis_lock);
		result = owners_result(owners, &show, &err);
		pthread_mutex_unlock(&call->trace->analysis_lock);
	}
	reply_result(call, result, &err);
}

void api_owners_path(struct call *call)
{
	const char *chunk = call_text(call, "chunk");
	struct result *result = NULL;
	struct err err = {0};
	struct owners *owners;
	u64 shape = 0;

	if (!chunk && !call_text(call, "shape")) {
		call_bad(call, "chunk", "the number of a chunk");
		return;
	}
	if (!call_number(call, "shape", 0, UINT32_MAX, &shape) ||
	    !call_time(call, "at", &call->at_ns))
		return;
	owners = owners_of(call, &err);
	if (owners) {
		pthread_mutex_lock(&call->trace->analysis_lock);
		result = chunk ? owners_path_result(owners, chunk, &err)
			       : owners_shape_path(owners, shape, &err);
		pthread_mutex_unlock(&call->trace->analysis_lock);
	}
	reply_result(call, result, &err);
}
