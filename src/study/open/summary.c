/* SPDX-License-Identifier: MIT
 * Adds up a recording while it goes on; see summary.h. Host. */
#include "study/open/summary.h"

#include "study/open/following.h"

struct summary {
	struct model model; /* the first: sinks of models are told it */
	struct following following;
	VEC(struct sums_out) images;
};

struct summary *summary_new(void)
{
	struct summary *self = calloc(1, sizeof *self);

	if (!self)
		return NULL;
	following_begin(&self->following, &self->model, true);
	self->following.live_max = UINT64_MAX;
	return self;
}

void summary_free(struct summary *self)
{
	if (!self)
		return;
	for (u64 i = 0; i < self->images.count; i++)
		sums_out_release(&self->images.data[i]);
	vec_release(&self->images);
	following_release(&self->following);
	model_reset(&self->model);
	free(self);
}

static int image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	struct summary *self = data;
	struct study_sums sums = {.model = &self->model};
	struct sums_out out = {0};
	int status = model_sink(&self->model).image_end(&self->model, end, err);

	if (status < 0 || !following_take(&self->following, &sums.behaviour, &sums.growth))
		return status;
	study_sums_put(&sums, &out);
	if (!vec_push(&self->images, out))
		status = err_memory_for(err, "the sums");
	behaviour_table_release(&sums.behaviour);
	growth_samples_free(sums.growth);
	return status;
}

struct stream_sink summary_sink(struct summary *self)
{
	struct stream_sink sink = model_sink(&self->model);

	sink.graph = NULL;
	sink.image_end = image_end;
	return sink;
}

int summary_write(struct summary *self, const char *path, struct err *err)
{
	int status = self->images.count ? 0
					: err_set(err, ERR_INPUT,
						  "the recording did not end, so it has no sums");

	for (u64 i = 0; i < self->images.count && status == 0; i++)
		status = trace_write_sums(path, &self->images.data[i], err);
	return status;
}
