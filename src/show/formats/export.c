/* SPDX-License-Identifier: MIT
 * What all formats share: measures, caveats.
 * Host. Prints nothing. */
#include "show/formats/export.h"

#include <string.h>

#include "study/analysis/summary/summary.h"

static const struct {
	const char *word, *unit, *title;
} metrics[EXPORT_METRICS] = {
	[EXPORT_BYTES] = {"bytes", "bytes", "bytes allocated"},
	[EXPORT_ALLOCS] = {"allocs", "count", "allocations"},
	[EXPORT_PEAK] = {"peak", "bytes", "bytes live at the peak"},
	[EXPORT_KEPT] = {"kept", "bytes", "bytes kept until the end"},
	[EXPORT_TEMPORARY] = {"temporary", "count", "temporary chunks"},
};

enum export_metric export_metric_parse(const char *word)
{
	for (u32 i = 0; word && i < EXPORT_METRICS; i++)
		if (strcmp(metrics[i].word, word) == 0)
			return (enum export_metric)i;
	return EXPORT_BYTES;
}

const char *export_metric_word(enum export_metric metric) { return metrics[metric].word; }
const char *export_metric_unit(enum export_metric metric) { return metrics[metric].unit; }
const char *export_metric_title(enum export_metric metric) { return metrics[metric].title; }

struct result *export_caveats(const struct export_job *job)
{
	struct result *result = result_new(RESULT_TABLE, "caveats", "Caveats");

	if (result)
		add_caveats(result, job->stacks.model, job->info);
	if (result && result_failed(result)) {
		result_free(result);
		return NULL;
	}
	return result;
}

void export_put_caveats(const struct export_job *job, struct json *json, const char *key)
{
	struct result *caveats = export_caveats(job);

	json_open(json, key, '[');
	for (u64 i = 0; caveats && i < caveats->caveats.count; i++)
		json_text(json, NULL, caveats->caveats.data[i]);
	json_close(json, ']');
	result_free(caveats);
}

bool export_complete(const struct export_job *job)
{
	return summary_complete(job->stacks.model, job->info);
}

u64 export_count(struct export_sum *self, const struct model *model, u64 units)
{
	u64 before = model_count(model, self->units);

	self->units += units;
	return model_count(model, self->units) - before;
}

void export_values(const struct model *model, const struct model_point *point,
		   struct export_sum sums[EXPORT_METRICS], u64 values[EXPORT_METRICS])
{
	values[EXPORT_BYTES] = point->bytes;
	values[EXPORT_ALLOCS] = export_count(&sums[EXPORT_ALLOCS], model, point->allocations);
	values[EXPORT_PEAK] = point->at_peak_bytes;
	values[EXPORT_KEPT] = point->live_bytes;
	values[EXPORT_TEMPORARY] = export_count(&sums[EXPORT_TEMPORARY], model, point->temporary);
}
