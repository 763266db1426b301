/* SPDX-License-Identifier: MIT
 * Joins what units found into one index and writes it as text (docs/TYPES-INDEX.md).
 * Runs on the host. */
#include "host/symbols/indexer/merge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/base/order.h"

void file_state(const char *path, struct type_file *file)
{
	struct stat status;

	file->path = path;
	file->mtime_ns = file->bytes = 0;
	if (stat(path, &status))
		return;
	file->mtime_ns = (u64)status.st_mtim.tv_sec * 1000000000ull + (u64)status.st_mtim.tv_nsec;
	file->bytes = (u64)status.st_size;
}

static u32 merge_file(struct merge *self, const char *path)
{
	const char *kept = names_keep(&self->texts, path);
	u64 *number = map_at(&self->file_of_text, (u64)(uintptr_t)kept);
	struct type_file file;

	if (!number) {
		self->failed = true;
		return 0;
	}
	if (!*number) {
		file_state(kept, &file);
		self->failed |= !vec_push(&self->files, file);
		*number = self->files.count;
	}
	return (u32)*number - 1;
}

static u64 mix(u64 hash, u64 value) { return hash_u64(hash ^ value) + 0x9e3779b97f4a7c15ull; }

/* Texts are kept once each, so their addresses tell them apart. */
static u64 site_hash(const struct type_site *site)
{
	u64 hash = mix(0, (u64)site->file << 32 | site->line);

	hash = mix(hash, (u64)site->column << 32 | site->end_column);
	hash = mix(hash, (u64)site->end_line << 32 | (u64)site->kind << 16 | (u64)site->how << 8 |
				 site->gives_pointer);
	hash = mix(hash, site->size);
	hash = mix(hash, (u64)(uintptr_t)site->type);
	hash = mix(hash, (u64)(uintptr_t)site->written);
	hash = mix(hash, (u64)(uintptr_t)site->callee);
	hash = mix(hash, (u64)(uintptr_t)site->pattern);
	return mix(hash, (u64)(uintptr_t)site->function);
}

static bool same_site(const struct type_site *a, const struct type_site *b)
{
	return a->file == b->file && a->line == b->line && a->column == b->column &&
	       a->end_line == b->end_line && a->end_column == b->end_column && a->kind == b->kind &&
	       a->how == b->how && a->gives_pointer == b->gives_pointer && a->size == b->size &&
	       a->type == b->type && a->written == b->written && a->callee == b->callee &&
	       a->pattern == b->pattern && a->function == b->function;
}

/* Number of the site, whose file is the merged one already. */
static u32 merge_site(struct merge *self, struct type_site site)
{
	u64 hash, *number;

	site.type = names_keep(&self->texts, site.type);
	site.written = names_keep(&self->texts, site.written);
	site.callee = names_keep(&self->texts, site.callee);
	site.pattern = names_keep(&self->texts, site.pattern);
	site.function = names_keep(&self->texts, site.function);
	for (hash = site_hash(&site);; hash++) {
		number = map_at(&self->site_of_hash, hash);
		if (!number) {
			self->failed = true;
			return 0;
		}
		if (!*number || same_site(&self->sites.data[*number - 1], &site))
			break;
	}
	if (!*number) {
		self->failed |= !vec_push(&self->sites, site);
		*number = self->sites.count;
	}
	return (u32)*number - 1;
}

static int compare_numbers(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* "0 3-7 9" */
static void add_numbers(struct strbuf *out, struct u32_list *list)
{
	vec_sort(list, compare_numbers);
	for (u64 i = 0, last; i < list->count; i = last + 1) {
		for (last = i;
		     last + 1 < list->count && list->data[last + 1] <= list->data[last] + 1;)
			last++;
		strbuf_addf(out, i ? " %u" : "%u", list->data[i]);
		if (list->data[last] > list->data[i])
			strbuf_addf(out, "-%u", list->data[last]);
	}
}

static void add_text(struct strbuf *out, const char *text)
{
	strbuf_add_char(out, '\t');
	for (; *text; text++) {
		if (*text == '\t')
			strbuf_add(out, "\\t");
		else if (*text == '\n')
			strbuf_add(out, "\\n");
		else if (*text == '\\')
			strbuf_add(out, "\\\\");
		else
			strbuf_add_char(out, *text);
	}
}

static void add_unit_line(struct merge *self, u64 key, const char *path, struct u32_list *files,
			  struct u32_list *sites)
{
	strbuf_addf(&self->units, "u\t%llu", (unsigned long long)key);
	add_text(&self->units, path);
	strbuf_add_char(&self->units, '\t');
	add_numbers(&self->units, files);
	strbuf_add_char(&self->units, '\t');
	add_numbers(&self->units, sites);
	strbuf_add_char(&self->units, '\n');
	vec_release(files);
	vec_release(sites);
}

void merge_unit(struct merge *self, const struct unit *unit)
{
	struct u32_list files = {0}, sites = {0};

	for (u64 i = 0; i < unit->files.count; i++)
		self->failed |= !vec_push(&files, merge_file(self, unit->files.data[i]));
	for (u64 i = 0; i < unit->sites.count; i++) {
		struct type_site site = unit->sites.data[i];

		site.file = merge_file(self, unit->files.data[site.file]);
		self->failed |= !vec_push(&sites, merge_site(self, site));
	}
	self->failed |= unit->no_memory;
	add_unit_line(self, unit->key, unit->path, &files, &sites);
}

void merge_old_unit(struct merge *self, const struct type_index *old, const struct type_unit *unit)
{
	struct u32_list files = {0}, sites = {0};

	for (u64 i = 0; i < unit->files.count; i++)
		self->failed |=
			!vec_push(&files,
				  merge_file(self, old->files.data[unit->files.data[i]].path));
	for (u64 i = 0; i < unit->sites.count; i++) {
		struct type_site site = old->sites.data[unit->sites.data[i]];

		site.file = merge_file(self, old->files.data[site.file].path);
		self->failed |= !vec_push(&sites, merge_site(self, site));
	}
	add_unit_line(self, unit->key, unit->main_file, &files, &sites);
}

static void add_site(struct strbuf *out, const struct type_site *site)
{
	strbuf_addf(out, "s\t%u\t%u\t%u\t%u\t%u\t%c%c%c\t%llu", site->file, site->line,
		    site->column, site->end_line, site->end_column, site->kind, site->how,
		    site->gives_pointer ? 'p' : '-', (unsigned long long)site->size);
	add_text(out, site->type);
	add_text(out, site->written);
	add_text(out, site->callee);
	add_text(out, site->pattern);
	add_text(out, site->function);
	strbuf_add_char(out, '\n');
}

void merge_text(const struct merge *self, const char *compiler, struct strbuf *out)
{
	strbuf_addf(out, "heapwise-types %d\nv", TYPE_INDEX_VERSION);
	add_text(out, compiler);
	strbuf_add_char(out, '\n');
	for (u64 i = 0; i < self->files.count; i++) {
		const struct type_file *file = &self->files.data[i];

		strbuf_addf(out, "f\t%llu\t%llu", (unsigned long long)file->mtime_ns,
			    (unsigned long long)file->bytes);
		add_text(out, file->path);
		strbuf_add_char(out, '\n');
	}
	for (u64 i = 0; i < self->sites.count; i++)
		add_site(out, &self->sites.data[i]);
	strbuf_add_bytes(out, strbuf_text(&self->units), self->units.count);
	strbuf_add(out, "e\n");
	out->failed |= self->units.failed;
}

void merge_release(struct merge *self)
{
	names_release(&self->texts);
	vec_release(&self->files);
	map_release(&self->file_of_text);
	vec_release(&self->sites);
	map_release(&self->site_of_hash);
	strbuf_release(&self->units);
}
