/* SPDX-License-Identifier: MIT
 * Sums of the model and of the analyses that every first look needs.
 * Host. Whatever is wrong with them only means that the events are read. */
#include "study/open/sums.h"

enum { SUMS_OF_BEHAVIOUR = SUMS_OF_OTHERS, SUMS_OF_GROWTH };

/* Accesses are told by chunk, maybe after its end; sums of --max-size are not those of chunks. */
bool study_sums_complete(const struct study_sums *self)
{
	const struct model *model = self->model;

	return model && model->finished && !model->has_access && !model->aggregated &&
	       !model->wants_chunks && !model_is_collected(model) && self->behaviour.points &&
	       self->growth;
}

void study_sums_put(const struct study_sums *self, struct sums_out *out)
{
	model_sums_put(self->model, out);
	behaviour_sums_put(&self->behaviour, SUMS_OF_BEHAVIOUR, out);
	growth_samples_put(self->growth, SUMS_OF_GROWTH, out);
}

/* What is not an event. */
static int read_facts(struct model *model, const char *path, u32 image, u64 *events,
		      struct err *err)
{
	struct trace_read_options how = {.image = (int)image, .only = true};
	struct trace_reader *reader = trace_open(path, err);
	struct stream_sink sink = model_sink(model);
	int status;

	if (!reader)
		return err->code < 0 ? err->code : ERR_INPUT;
	sink.events = NULL;
	sink.accesses = NULL;
	sink.types = NULL;
	sink.graph = NULL;
	sink.aggregates = NULL;
	model->finished = true; /* its end is not that of any chunk */
	*events = trace_image_events(reader, image);
	status = trace_read(reader, &how, &sink, err);
	trace_close(reader);
	return status;
}

int study_sums_take(struct study_sums *self, const char *path, int image,
		    const struct trace_info *info, struct err *err)
{
	struct err ignored = {0};
	u32 number = image == TRACE_LAST_IMAGE ? (u32)info->images - 1 : (u32)image;
	struct sums_in *in = info->images ? trace_read_sums(path, number, &ignored) : NULL;
	u64 events = 0;
	int status;

	*self = (struct study_sums){0};
	if (!in)
		return 1;
	self->model = model_new();
	status =
		self->model ? read_facts(self->model, path, number, &events, err) : err_memory(err);
	if (status == 0 && !self->model->has_image)
		status = 1;
	if (status == 0)
		status = model_sums_take(self->model, in, events, err);
	if (status == 0)
		status = behaviour_sums_take(&self->behaviour, in, SUMS_OF_BEHAVIOUR,
					     self->model->points.count);
	if (status == 0) {
		self->growth = growth_samples_take_sums(self->model, in, SUMS_OF_GROWTH);
		status = !self->growth;
	}
	if (status == 0)
		status = model_load_type_names(self->model, path, err);
	sums_in_free(in);
	if (status)
		study_sums_release(self);
	return status;
}

void study_sums_release(struct study_sums *self)
{
	behaviour_table_release(&self->behaviour);
	growth_samples_free(self->growth);
	model_free(self->model);
	*self = (struct study_sums){0};
}
