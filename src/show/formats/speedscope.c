/* SPDX-License-Identifier: MIT
 * A trace as speedscope's own file: a profile for each measure, over shared frames. Stacks are its
 * samples, which speedscope shows side by side in their order: that of first allocation.
 * Host. */
#include "show/formats/measured.h"
#include "show/render/fields.h"

static void put_frames(const struct places *places, struct json *json)
{
	json_open(json, "shared", '{');
	json_open(json, "frames", '[');
	for (u64 i = 0; i < places->functions.count; i++) {
		const struct place_function *function = &places->functions.data[i];

		json_open_flat(json, NULL, '{');
		json_text(json, "name", function->name);
		if (*function->file)
			json_text(json, "file", function->file);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static int put_sample(const struct measured *self, u32 node, struct json *json, struct err *err)
{
	VEC(u32) path = {0};
	int status = 0;

	for (u32 at = node; at && status == 0; at = self->tree.nodes.data[at].parent)
		if (!vec_push(&path, self->tree.nodes.data[at].key))
			status = err_memory_for(err, "the export");
	json_open(json, NULL, '[');
	for (u64 i = path.count; i-- > 0;)
		json_number(json, NULL, path.data[i]);
	json_close(json, ']');
	vec_release(&path);
	return status;
}

static int put_profile(const struct measured *self, enum export_metric metric, struct json *json,
		       struct err *err)
{
	const struct measures *own = self->own.data;
	bool bytes = export_metric_unit(metric)[0] == 'b';
	int status = 0;

	json_open(json, NULL, '{');
	put_fields(json, FIELD("type", "sampled"), FIELD("name", export_metric_title(metric)),
		   FIELD("unit", bytes ? "bytes" : "none"), FIELD("startValue", 0),
		   FIELD("endValue", self->sum.of[metric]));
	json_open_flat(json, "samples", '[');
	for (u32 node = 1; node < self->own.count && status == 0; node++)
		if (own[node].of[metric])
			status = put_sample(self, node, json, err);
	json_close(json, ']');
	json_open_flat(json, "weights", '[');
	for (u32 node = 1; node < self->own.count; node++)
		if (own[node].of[metric])
			json_number(json, NULL, own[node].of[metric]);
	json_close(json, ']');
	json_close(json, '}');
	return status;
}

/* The name is what the tab shows; keys of ours are passed over. */
static void put_head(const struct export_job *job, struct json *json)
{
	put_fields(json, FIELD("$schema", "https://www.speedscope.app/file-format-schema.json"),
		   FIELD("exporter", "heapwise " HEAPWISE_VERSION),
		   FIELD("name", job->stacks.model->image.command),
		   FIELD("activeProfileIndex", job->metric),
		   FLAG("heapwiseComplete", export_complete(job)));
	export_put_caveats(job, json, "heapwiseCaveats");
}

int speedscope_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct measured self = {0};
	struct json json = {.out = out};
	int status = measured_build(&self, job, err);

	json_open(&json, NULL, '{');
	put_head(job, &json);
	put_frames(&self.places, &json);
	json_open(&json, "profiles", '[');
	for (u32 metric = 0; metric < EXPORT_METRICS && status == 0; metric++)
		status = put_profile(&self, (enum export_metric)metric, &json, err);
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
	measured_release(&self);
	return status;
}
