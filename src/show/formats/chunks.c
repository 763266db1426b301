/* SPDX-License-Identifier: MIT
 * Chunks one by one; and as lines: CSV and JSON lines.
 * Host. The columns are documented in docs/EXPORTS.md: new ones are added at the end. */
#include "show/formats/chunks.h"

#include "show/render/render.h"
#include "host/trace/kinds.h"

static const char *end_word(const struct model *model, u8 end)
{
	switch ((enum chunk_end)end) {
	case CHUNK_FREED: return model_is_collected(model) ? "collected" : "freed";
	case CHUNK_IMPLIED: return "implied";
	case CHUNK_KEPT: return "kept";
	case CHUNK_EXEC: return model_is_collected(model) ? "live" : "exec";
	case CHUNK_LIVE:
	case CHUNK_ABSENT: break;
	}
	return "live";
}

u64 export_access_ns(const struct export_job *job, u64 ticks)
{
	return ticks ? tick_clock_ns(&job->stacks.model->clock, ticks) : 0;
}

bool export_chunk(const struct export_job *job, u64 chunk, struct export_chunk *out)
{
	const struct model *model = job->stacks.model;
	const struct chunk_page *page = chunk_at(&model->chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE);
	u64 units, bytes;

	if (!page || page->end[k] == CHUNK_ABSENT)
		return false;
	model_weigh(model, page->size[k], &units, &bytes);
	*out = (struct export_chunk){
		.chunk = chunk,
		.address = page->address[k],
		.size = page->size[k],
		.alloc_ns = tick_clock_ns(&model->clock, page->alloc_ticks[k]),
		.freed = page->end[k] == CHUNK_FREED || page->end[k] == CHUNK_IMPLIED,
		.end = end_word(model, page->end[k]),
		.kind = kind_name(page->kind[k]),
		.point = model_point_of(model, page->alloc_context[k]).index,
		.alloc_thread = page->alloc_thread[k],
		.weight = (double)units / (double)(1ull << model->count_shift),
	};
	if (out->freed) {
		out->free_ns = tick_clock_ns(&model->clock, page->free_ticks[k]);
		out->free_context = page->free_context[k];
		out->free_thread = page->free_thread[k];
		out->others = page->others[k];
	}
	if (model_chunk_class(model, chunk) != CLASS_UNKNOWN)
		out->scan = class_name(model_chunk_class(model, chunk));
	if (job->types)
		out->type = type_of_chunk(job->types, chunk);
	out->has_access = model_chunk_access(model, chunk, &out->access);
	return true;
}

/* ---- lines ---- */

static const struct result_column columns[] = {
	COLUMN("chunk", "", VALUE_ID, "number of the chunk in the trace"),
	COLUMN("address", "", VALUE_ADDRESS, "address of its first byte"),
	COLUMN("size", "", VALUE_BYTES, "requested bytes"),
	COLUMN("kind", "", VALUE_TEXT, "allocating function: malloc, new_array …"),
	COLUMN("alloc_ns", "", VALUE_NS, "time since the image began"),
	COLUMN("free_ns", "", VALUE_NS, "time since the image began; unknown if never freed"),
	COLUMN("end", "", VALUE_TEXT, "freed, implied, kept, exec, live"),
	COLUMN("alloc_tid", "", VALUE_ID, "thread that allocated"),
	COLUMN("free_tid", "", VALUE_ID, "thread that freed"),
	COLUMN("others", "", VALUE_COUNT,
	       "allocations of the allocating thread between allocation and free"),
	COLUMN("weight", "", VALUE_RATIO, "allocations it represents: 1 unless sampled"),
	COLUMN("point", "", VALUE_ID, "number of its allocation point"),
	COLUMN("function", "", VALUE_TEXT, "innermost function of the program's own code"),
	COLUMN("file", "", VALUE_TEXT, "its source file"),
	COLUMN("line", "", VALUE_ID, "line in that file"),
	COLUMN("module", "", VALUE_TEXT, "program or library that contains the code"),
	COLUMN("type", "", VALUE_TEXT, "type of its contents"),
	COLUMN("type_count", "", VALUE_COUNT, "elements"),
	COLUMN("type_source", "", VALUE_TEXT, "source of the type"),
	COLUMN("type_confidence", "", VALUE_TEXT, "exact, likely, guess"),
	COLUMN("leak_kind", "", VALUE_TEXT, "leak kind: lost, indirect, possible or reachable"),
	COLUMN("reads", "", VALUE_COUNT, "number of reads"),
	COLUMN("writes", "", VALUE_COUNT, "number of writes"),
	COLUMN("read_bytes", "", VALUE_BYTES, "bytes read"),
	COLUMN("written_bytes", "", VALUE_BYTES, "bytes written"),
	COLUMN("first_access_ns", "", VALUE_NS,
	       "time since the image began; unknown if never accessed"),
	COLUMN("last_access_ns", "", VALUE_NS, "likewise"),
	COLUMN("low", "", VALUE_BYTES, "offset of the lowest byte accessed"),
	COLUMN("high", "", VALUE_BYTES, "offset after the highest byte accessed"),
	COLUMN("covered_bytes", "", VALUE_BYTES, "different bytes accessed, if measured"),
	COLUMN("shared", "", VALUE_BOOL, "whether several threads accessed it"),
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

struct chunk_lines {
	const struct export_job *job;
	VEC(struct finding_place) places; /* by point */
};

static int find_places(struct chunk_lines *self, struct err *err)
{
	const struct model *model = self->job->stacks.model;

	for (u64 i = 0; i < model->points.count; i++)
		if (!vec_push(&self->places,
			      finding_place(&self->job->stacks, model->points.data[i].frame)))
			return err_memory_for(err, "the export");
	return 0;
}

static struct value known_if(bool known, u64 number)
{
	return known ? value_number(number) : value_unknown();
}

static struct value text_of(const char *text)
{
	return text && *text ? value_text(text) : value_unknown();
}

static struct value thread_of(const struct chunk_lines *self, u32 thread)
{
	const struct model *model = self->job->stacks.model;

	return thread < model->threads.count ? value_number(model->threads.data[thread].tid)
					     : value_unknown();
}

static struct value *put_access(const struct chunk_lines *self, const struct export_chunk *chunk,
				struct value *cell)
{
	const struct chunk_access *access = &chunk->access;
	bool known = chunk->has_access;

	*cell++ = known_if(known && access_is_sided(access, access->reads), access->reads);
	*cell++ = known_if(known && access_is_sided(access, access->writes), access->writes);
	*cell++ = known_if(known, access->read_bytes);
	*cell++ = known_if(known, access->written_bytes);
	*cell++ = known_if(access->first_ticks, export_access_ns(self->job, access->first_ticks));
	*cell++ = known_if(access->last_ticks, export_access_ns(self->job, access->last_ticks));
	*cell++ = known_if(access->high > access->low, access->low);
	*cell++ = known_if(access->high > access->low, access->high);
	*cell++ = known_if(known && access->covered != UINT64_MAX, access->covered);
	*cell++ = known_if(known && access_knows_threads(access), access->flags & ACCESS_SHARED);
	return cell;
}

static struct value *put_place(const struct chunk_lines *self, const struct export_chunk *chunk,
			       struct value *cell)
{
	const struct finding_frame *own = &self->places.data[chunk->point].own;

	*cell++ = value_number(chunk->point);
	*cell++ = text_of(own->function);
	*cell++ = text_of(own->file);
	*cell++ = known_if(own->line, own->line);
	*cell++ = text_of(own->module);
	return cell;
}

static void fill_cells(const struct chunk_lines *self, const struct export_chunk *chunk,
		       struct value *cell)
{
	bool typed = chunk->type.confidence && chunk->type.name;

	*cell++ = value_number(chunk->chunk);
	*cell++ = value_number(chunk->address);
	*cell++ = value_number(chunk->size);
	*cell++ = value_text(chunk->kind);
	*cell++ = value_number(chunk->alloc_ns);
	*cell++ = known_if(chunk->freed, chunk->free_ns);
	*cell++ = value_text(chunk->end);
	*cell++ = thread_of(self, chunk->alloc_thread);
	*cell++ = chunk->freed ? thread_of(self, chunk->free_thread) : value_unknown();
	*cell++ = known_if(chunk->freed, chunk->others);
	*cell++ = value_real(chunk->weight);
	cell = put_place(self, chunk, cell);
	*cell++ = typed ? value_text(chunk->type.name) : value_unknown();
	*cell++ = known_if(typed && chunk->type.count, chunk->type.count);
	*cell++ = typed ? value_text(type_origin_name(chunk->type.origin)) : value_unknown();
	*cell++ =
		typed ? value_text(type_confidence_name(chunk->type.confidence)) : value_unknown();
	*cell++ = text_of(chunk->scan);
	put_access(self, chunk, cell);
}

typedef void put_line(const struct result_column *columns, u64 count, const struct value *row,
		      FILE *out);

static int put_lines(const struct export_job *job, put_line *put, FILE *out, struct err *err)
{
	struct chunk_lines self = {.job = job};
	int status = find_places(&self, err);
	struct value row[COLUMNS];
	struct export_chunk chunk;

	for (u64 i = 0; i < job->stacks.model->chunks.count && status == 0; i++) {
		if (!export_chunk(job, i, &chunk))
			continue;
		fill_cells(&self, &chunk, row);
		put(columns, COLUMNS, row, out);
		if (ferror(out))
			break;
	}
	vec_release(&self.places);
	return status;
}

int csv_export(const struct export_job *job, FILE *out, struct err *err)
{
	render_csv_row(columns, COLUMNS, NULL, out);
	return put_lines(job, render_csv_row, out, err);
}

int jsonl_export(const struct export_job *job, FILE *out, struct err *err)
{
	return put_lines(job, render_json_line, out, err);
}
