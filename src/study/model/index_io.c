/* SPDX-License-Identifier: MIT
 * The small parts of an index.
 * Host. Reads what a stranger may have written: lengths are checked before anything is sized by
 * them; what the numbers mean is checked by index_check.c. */
#include "study/model/index_io.h"

#include <string.h>

#include "host/trace/block.h"

void io_bytes(struct index_io *io, void *bytes, u64 count)
{
	if (!io->reading) {
		strbuf_add_bytes(&io->out, bytes, count);
		return;
	}
	if (io->failed || count > (u64)(io->end - io->at)) {
		io->failed = true;
		if (count)
			memset(bytes, 0, count);
		return;
	}
	if (count)
		memcpy(bytes, io->at, count);
	io->at += count;
}

u64 io_count(struct index_io *io, u64 count, u64 size)
{
	io_bytes(io, &count, sizeof count);
	if (io->reading && (io->failed || count > (u64)(io->end - io->at) / size)) {
		io->failed = true;
		return 0;
	}
	return count;
}

void io_text(struct index_io *io, const char **text, struct arena *arena)
{
	/* one more than its length, so that there can be none at all */
	u64 count = io_count(io, !io->reading && *text ? strlen(*text) + 1 : 0, 1);

	if (!io->reading) {
		strbuf_add_bytes(&io->out, *text, count);
		return;
	}
	*text = NULL;
	if (!count)
		return;
	io->failed |= io->at[count - 1] != 0 || memchr(io->at, 0, count - 1);
	*text = io->failed ? NULL : arena_copy_text(arena, (const char *)io->at, count - 1);
	io->failed |= !*text;
	io->at += count;
}

void io_check_bool(struct index_io *io, bool *value)
{
	u8 byte;

	memcpy(&byte, value, 1);
	if (io->reading && byte > 1) {
		io->failed = true;
		*value = false;
	}
}

/* A text that is always there. */
static void io_words(struct index_io *io, const char **text, struct arena *arena)
{
	io_text(io, text, arena);
	if (!*text) {
		io->failed |= io->reading;
		*text = "";
	}
}

/* Plain numbers of the model, and structures of numbers. */
#define PLAIN(F)                                                                                   \
	F(end)                                                                                     \
	F(last_ticks)                                                                              \
	F(access)                                                                                  \
	F(snapshots_without_points)                                                                \
	F(pauses)                                                                                  \
	F(timeline)                                                                                \
	F(totals)                                                                                  \
	F(kinds)                                                                                   \
	F(realloc_frees_alone)                                                                     \
	F(failed)                                                                                  \
	F(duration_calls)                                                                          \
	F(duration_ticks)                                                                          \
	F(duration_bins)                                                                           \
	F(mapped_bytes)                                                                            \
	F(unmapped_bytes)                                                                          \
	F(unknown_frees)                                                                           \
	F(implied_frees)                                                                           \
	F(lost_events)                                                                             \
	F(events)                                                                                  \
	F(strange_events)                                                                          \
	F(strange_accesses)                                                                        \
	F(strange_types)                                                                           \
	F(count_shift)                                                                             \
	F(recorded_allocations)                                                                    \
	F(recorded_bytes)                                                                          \
	F(recorded_frees)                                                                          \
	F(aggregated_allocations)                                                                  \
	F(aggregated_frees)

static void io_plain(struct index_io *io, struct model *model)
{
	bool *flags[] = {&model->has_image, &model->has_end, &model->has_access, &model->aggregated,
			 &model->finished};

#define IO_FIELD(field) io_bytes(io, &model->field, sizeof model->field);
	PLAIN(IO_FIELD)
#undef IO_FIELD
	for (u32 i = 0; i < sizeof flags / sizeof *flags; i++) {
		io_bytes(io, flags[i], 1);
		io_check_bool(io, flags[i]);
	}
}

static void io_info(struct index_io *io, struct trace_info *info)
{
	io_bytes(io, info, sizeof *info);
	io_check_bool(io, &info->complete);
	io_check_bool(io, &info->has_symbols);
	io->failed |= !memchr(info->damage, 0, sizeof info->damage);
}

static void io_image(struct index_io *io, struct model *model)
{
	struct stream_image image = model->image;
	const char *program = image.program, *command = image.command;

	image.program = image.command = NULL; /* addresses mean nothing to others */
	io_bytes(io, &image, sizeof image);
	io_words(io, &program, &model->arena);
	io_words(io, &command, &model->arena);
	image.program = program;
	image.command = command;
	model->image = image;
}

static void io_scan(struct index_io *io, struct model *model)
{
	struct model_scan scan = model->scan;
	const char *reason = scan.reason ? scan.reason : "";

	scan.reason = NULL;
	io_bytes(io, &scan, sizeof scan);
	io_words(io, &reason, &model->arena);
	scan.reason = reason;
	model->scan = scan;
}

static void io_module(struct index_io *io, struct modmap *modules,
		      const struct modmap_module *known)
{
	struct stream_module module = {0};
	struct arena arena = {0};
	const char *path = NULL;
	u64 build_id_bytes = 0;

	if (known) {
		module = (struct stream_module){.id = known->id,
						.generation = known->generation,
						.base = known->base,
						.start = known->start,
						.end = known->end,
						.loaded_ticks = known->loaded_ticks,
						.unloaded_ticks = known->unloaded_ticks};
		path = known->path;
		build_id_bytes = known->build_id_bytes;
	}
	io_bytes(io, &module, sizeof module);
	io_words(io, &path, &arena);
	build_id_bytes = io_count(io, build_id_bytes, 1);
	if (known) {
		io_bytes(io, known->build_id, build_id_bytes);
	} else {
		io->failed |= build_id_bytes > UINT32_MAX;
		module.path = path;
		module.build_id = build_id_bytes ? io->at : NULL;
		module.build_id_bytes = (u32)build_id_bytes;
		if (!io->failed && modmap_tell(modules, &module, NULL) < 0)
			io->failed = true;
		io->at += build_id_bytes;
	}
	arena_release(&arena);
}

static void io_modules(struct index_io *io, struct modmap *modules)
{
	u64 count = 0, contexts;

	for (u32 i = 0; i < modules->module_count; i++)
		count += modules->modules[i].told;
	count = io_count(io, count, sizeof(struct stream_module));
	if (io->reading)
		for (u64 i = 0; i < count && !io->failed; i++)
			io_module(io, modules, NULL);
	else
		for (u32 i = 0; i < modules->module_count; i++)
			if (modules->modules[i].told)
				io_module(io, modules, &modules->modules[i]);
	contexts = io_count(io, modules->context_count, sizeof *modules->generations);
	if (io->reading && contexts) {
		modules->generations = calloc(contexts, sizeof *modules->generations);
		io->failed |= !modules->generations || contexts > UINT32_MAX;
		if (io->failed)
			return;
		modules->context_count = modules->context_room = (u32)contexts;
	}
	io_bytes(io, modules->generations, contexts * sizeof *modules->generations);
}

static void io_contexts(struct index_io *io, struct context_table *contexts)
{
	io_modules(io, &contexts->modules);
	io_vec(io, &contexts->nodes);
	for (u64 i = 0; io->reading && i < contexts->nodes.count; i++)
		io_check_bool(io, &contexts->nodes.data[i].told);
	io_vec(io, &contexts->frames);
	io_vec(io, &contexts->identities);
	io_bytes(io, &contexts->told, sizeof contexts->told);
	io_bytes(io, &contexts->orphans, sizeof contexts->orphans);
	contexts->maps_missing |= io->reading;
}

static void io_texts(struct index_io *io, struct model *model)
{
	u64 count = io_count(io, model->names.count, sizeof(u64));

	io->failed |= !vec_extend(&model->names, count);
	for (u64 i = 0; i < count && !io->failed; i++)
		io_text(io, &model->names.data[i], &model->arena);
	count = io_count(io, model->types.count, sizeof(u64));
	io->failed |= !vec_extend(&model->types, count);
	for (u64 i = 0; i < count && !io->failed; i++)
		io_words(io, &model->types.data[i], &model->arena);
	count = io_count(io, model->notes.count, 2 * sizeof(u64));
	io->failed |= !vec_extend(&model->notes, count);
	for (u64 i = 0; i < count && !io->failed; i++) {
		io_words(io, &model->notes.data[i].key, &model->arena);
		io_words(io, &model->notes.data[i].value, &model->arena);
	}
}

static void io_marks(struct index_io *io, struct model *model)
{
	u64 count = io_count(io, model->marks.count, sizeof(struct model_mark));

	io->failed |= !vec_extend(&model->marks, count);
	for (u64 i = 0; i < count && !io->failed; i++) {
		struct model_mark mark = model->marks.data[i];
		const char *name = mark.name;

		mark.name = NULL;
		io_bytes(io, &mark, sizeof mark);
		io_words(io, &name, &model->arena);
		mark.name = name;
		model->marks.data[i] = mark;
	}
	io_vec(io, &model->snapshots);
	io_vec(io, &model->snapshot_points);
}

static void io_threads(struct index_io *io, struct model *model)
{
	io_vec(io, &model->threads);
	for (u64 i = 0; io->reading && i < model->threads.count; i++) {
		io_check_bool(io, &model->threads.data[i].told);
		io->failed |=
			!memchr(model->threads.data[i].name, 0, sizeof model->threads.data[i].name);
	}
}

/* Where a page lies in the file; 0 = nowhere. */
static void *io_page(struct index_io *io, void *page, u64 bytes)
{
	u64 offset = page && !io->reading ? column_store_offset(io->store, page) : 0;

	io_bytes(io, &offset, sizeof offset);
	if (!io->reading || !offset)
		return page;
	page = offset % INDEX_PAGE ? NULL : (void *)column_store_at(io->store, offset, bytes);
	io->failed |= !page;
	return page;
}

#define io_pages(io, pages, bytes)                                                                 \
	do {                                                                                       \
		u64 io_count_ = io_count((io), (pages)->count, sizeof(u64));                       \
		if (!vec_extend((pages), io_count_))                                               \
			(io)->failed = true;                                                       \
		for (u64 i = 0; i < io_count_ && !(io)->failed; i++)                               \
			(pages)->data[i] = io_page((io), (pages)->data[i], (bytes));               \
	} while (0)

static void io_columns(struct index_io *io, struct model *model)
{
	io_bytes(io, &model->chunks.count, sizeof model->chunks.count);
	io_pages(io, &model->chunks.pages, sizeof(struct chunk_page));
	io_vec(io, &model->chunks.zones);
	io_bytes(io, &model->accesses.count, sizeof model->accesses.count);
	io_pages(io, &model->accesses.cells.pages, (u64)CHUNK_PAGE * ACCESS_CELL_BYTES);
	io_vec(io, &model->accesses.wide);
	for (u64 i = 0; io->reading && i < model->accesses.wide.count; i++)
		io_check_bool(io, &model->accesses.wide.data[i].known);
	io_bytes(io, model->type_table.chunks, sizeof model->type_table.chunks);
	io_pages(io, &model->type_table.cells.pages, CHUNK_PAGE * sizeof(struct type_cell));
	io_vec(io, &model->type_table.kinds);
	io_vec(io, &model->type_table.identities);
}

static void io_stored(struct index_io *io, struct model *model)
{
	for (u32 i = 0; i < STORED_KINDS; i++) {
		struct stored_place place = {0};
		struct stored *stored = &model->stored[i];

		if (!io->reading && io->places)
			place = io->places[i];
		io_bytes(io, &place, sizeof place);
		if (!io->reading || !place.offset)
			continue;
		stored->data = place.offset % INDEX_PAGE
				       ? NULL
				       : column_store_at(io->store, place.offset, place.bytes);
		stored->bytes = place.bytes;
		stored->tag = place.tag;
		io->failed |= !stored->data;
	}
}

/* Maps that are asked after loading are made again; those that only loading needs are not. */
static void make_maps(struct index_io *io, struct model *model)
{
	struct type_table *types = &model->type_table;

	for (u64 i = 0; i < types->identities.count && !io->failed; i++)
		if (!map_put(&types->by_identity, types->identities.data[i].identity, i + 1))
			io->failed = true;
	for (u64 i = 0; i < model->types.count && !io->failed; i++) {
		const char *name = model->types.data[i];
		u64 key = checksum(name, strlen(name));

		while (map_find(&model->types_by_name, key))
			key++;
		if (!map_put(&model->types_by_name, key, i + 1))
			io->failed = true;
	}
}

void index_transfer(struct index_io *io, struct model *model, struct trace_info *info)
{
	io_info(io, info);
	io_plain(io, model);
	io_image(io, model);
	io_scan(io, model);
	io_contexts(io, &model->contexts);
	io_texts(io, model);
	io_marks(io, model);
	io_threads(io, model);
	io_vec(io, &model->told);
	io_vec(io, &model->points);
	io_vec(io, &model->sizes);
	io_vec(io, &model->maps);
	io_vec(io, &model->patterns.rows);
	io_vec(io, &model->usage);
	io_vec(io, &model->memory);
	io_vec(io, &model->residents);
	io_vec(io, &model->cached);
	io_vec(io, &model->clock.pairs);
	io_vec(io, &model->misfits.unknown);
	io_vec(io, &model->misfits.mismatches);
	io_bytes(io, &model->misfits.dropped, sizeof model->misfits.dropped);
	io_vec(io, &model->context_points);
	io_vec(io, &model->frame_points);
	io_columns(io, model);
	io_stored(io, model);
	if (io->reading) {
		io->failed |= io->at != io->end;
		make_maps(io, model);
	}
	io->failed |= io->out.failed;
}

u64 index_layout(void)
{
	static const u32 sizes[] = {
		INDEX_VERSION,
		sizeof(void *),
		CHUNK_PAGE,
		HW_KIND_COUNT,
		CLASS_COUNT,
		sizeof(struct chunk_page),
		sizeof(struct chunk_zone),
		sizeof(struct chunk_access),
		sizeof(struct point_map),
		sizeof(struct access_pattern),
		sizeof(struct type_cell),
		sizeof(struct type_kind),
		sizeof(struct type_identity),
		sizeof(struct context_node),
		sizeof(struct frame),
		sizeof(struct stream_module),
		sizeof(struct stream_image),
		sizeof(struct stream_image_end),
		sizeof(struct stream_clock),
		sizeof(struct stream_usage),
		sizeof(struct model_memory),
		sizeof(struct stream_resident),
		sizeof(struct stream_cached),
		sizeof(struct model),
		sizeof(struct model_told),
		sizeof(struct model_point),
		sizeof(struct model_size),
		sizeof(struct model_thread),
		sizeof(struct model_mark),
		sizeof(struct model_snapshot),
		sizeof(struct model_snapshot_point),
		sizeof(struct model_scan),
		sizeof(struct unknown_free),
		sizeof(struct mismatch),
		sizeof(struct trace_info),
		sizeof(struct order_block),
		ORDER_BLOCK,
		ORDER_STEP,
		STORED_KINDS,
		0x01020304, /* as bytes: the order of bytes */
	};

	return checksum(sizes, sizeof sizes) ^
	       checksum(HEAPWISE_VERSION, strlen(HEAPWISE_VERSION)) ^
	       (u64)CHUNK_PAGE * ACCESS_CELL_BYTES;
}
