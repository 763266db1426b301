/* SPDX-License-Identifier: MIT
 * Looks positions up in a types index.
 * Runs on the host. Never answers for a call that is not the allocation itself: a frame counts only
 * if what it called is the allocator, or a function that passes the allocator's block on. */
#include "host/symbols/types/index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/order.h"
#include "host/base/path.h"
#include "host/base/search.h"
#include "host/symbols/types/pattern.h"

#define NO_FILE UINT32_MAX

enum { CANDIDATES_MAX = 64, FOLDERS_MAX = 6 };

/* The sites of one place, in the order of the index. */
struct candidates {
	const struct type_site *sites[CANDIDATES_MAX];
	u32 count;
	bool whole_line; /* the column was not known: sites of several places of the line */
	bool other_path; /* only the end of the path is the same */
};

static int compare_base(const void *a, const void *b, void *opaque)
{
	const struct type_index *self = opaque;
	const char *x = self->files.data[*(const u32 *)a].path;
	const char *y = self->files.data[*(const u32 *)b].path;

	return strcmp(path_file(x), path_file(y)) ?: strcmp(x, y);
}

static int compare_places(const void *a, const void *b, void *opaque)
{
	const struct type_index *self = opaque;
	u32 i = *(const u32 *)a, j = *(const u32 *)b;
	const struct type_site *x = &self->sites.data[i], *y = &self->sites.data[j];

	return rising(x->file, y->file) ?: rising(x->line, y->line) ?: rising(i, j);
}

int type_index_sort(struct type_index *self, struct err *err)
{
	u64 sites = self->sites.count, files = self->files.count, at = 0;

	self->order = calloc(sites + 1, sizeof *self->order);
	self->reach = calloc(sites + 1, sizeof *self->reach);
	self->first = calloc(files + 1, sizeof *self->first);
	self->by_base = calloc(files + 1, sizeof *self->by_base);
	if (!self->order || !self->reach || !self->first || !self->by_base)
		return err_memory(err);
	for (u64 i = 0; i < sites; i++)
		self->order[i] = (u32)i;
	for (u64 i = 0; i < files; i++)
		self->by_base[i] = (u32)i;
	qsort_r(self->order, sites, sizeof *self->order, compare_places, self);
	qsort_r(self->by_base, files, sizeof *self->by_base, compare_base, self);
	for (u64 file = 0; file < files; file++) {
		u32 reach = 0;

		self->first[file] = at;
		for (; at < sites && self->sites.data[self->order[at]].file == file; at++) {
			u32 end = self->sites.data[self->order[at]].end_line;

			reach = end > reach ? end : reach;
			self->reach[at] = reach;
		}
	}
	self->first[files] = at;
	return 0;
}

void type_index_clean_path(const char *folder, const char *path, struct strbuf *out)
{
	const char *parts[2] = {*path == '/' ? "" : folder, path};

	strbuf_clear(out);
	for (u32 i = 0; i < 2; i++) {
		for (const char *at = parts[i], *end; *at; at = end) {
			u64 bytes;

			while (*at == '/')
				at++;
			end = at + strcspn(at, "/");
			bytes = (u64)(end - at);
			if (!bytes || (bytes == 1 && *at == '.'))
				continue;
			if (bytes == 2 && !strncmp(at, "..", 2)) {
				while (out->count && out->text[--out->count] != '/')
					;
				if (out->text)
					out->text[out->count] = 0;
				continue;
			}
			if (out->count || *parts[0] == '/' || *path == '/')
				strbuf_add_char(out, '/');
			strbuf_add_bytes(out, at, bytes);
		}
	}
}

/* How many components the paths share at their ends. */
static u32 common_end(const char *a, const char *b)
{
	const char *x = a + strlen(a), *y = b + strlen(b);
	u32 parts = 0;

	while (x > a && y > b && x[-1] == y[-1]) {
		x--;
		y--;
		parts += *x == '/';
	}
	if ((x == a && (y == b || y[-1] == '/')) || (y == b && x > a && x[-1] == '/'))
		parts++;
	return parts;
}

/* The file of that path; else the one whose path ends most like it. Debug info may name files by
 * another folder (-ffile-prefix-map), but one component in common proves nothing: "main.c". */
static u32 find_file(const struct type_index *self, const char *path, bool *other)
{
	struct strbuf clean = {0};
	u64 low;
	u32 best = NO_FILE, best_parts = 1;
	const char *base = path_file(path);

	type_index_clean_path("", path, &clean);
	low = bisect(at, self->files.count,
		     strcmp(path_file(self->files.data[self->by_base[at]].path), base) < 0);
	*other = true;
	for (; low < self->files.count; low++) {
		u32 file = self->by_base[low], parts;
		const char *known = self->files.data[file].path;

		if (strcmp(path_file(known), base))
			break;
		if (!strcmp(known, strbuf_text(&clean))) {
			best = file;
			*other = false;
			break;
		}
		parts = common_end(known, strbuf_text(&clean));
		if (parts == best_parts)
			best = NO_FILE;
		if (parts > best_parts) {
			best = file;
			best_parts = parts;
		}
	}
	strbuf_release(&clean);
	return best;
}

static bool covers(const struct type_site *site, u32 line, u32 column)
{
	if (line < site->line || line > site->end_line)
		return false;
	if (!column)
		return true;
	return (line > site->line || column >= site->column) &&
	       (line < site->end_line || column < site->end_column);
}

static bool same_place(const struct type_site *a, const struct type_site *b)
{
	return a->line == b->line && a->column == b->column && a->end_line == b->end_line &&
	       a->end_column == b->end_column;
}

/* Whether a lies inside of b, both of which cover one position. */
static bool is_inside(const struct type_site *a, const struct type_site *b)
{
	if (a->line != b->line)
		return a->line > b->line;
	if (a->column != b->column)
		return a->column > b->column;
	if (a->end_line != b->end_line)
		return a->end_line < b->end_line;
	return a->end_column < b->end_column;
}

static void add_candidate(struct candidates *found, const struct type_site *site, bool first)
{
	if (found->count == CANDIDATES_MAX)
		return;
	if (first) /* sites are met backwards */
		memmove(found->sites + 1, found->sites, found->count * sizeof *found->sites);
	found->sites[first ? 0 : found->count] = site;
	found->count++;
}

/* The sites of the innermost place that covers the frame's position. */
static void find_place(const struct type_index *self, const struct symbol_frame *frame,
		       struct candidates *found)
{
	u32 file = frame->line ? find_file(self, frame->file, &found->other_path) : NO_FILE;
	u64 low, start;

	if (file == NO_FILE)
		return;
	start = self->first[file];
	low = start + bisect(at, self->first[file + 1] - start,
			     self->sites.data[self->order[start + at]].line <= frame->line);
	found->whole_line = !frame->column;
	while (low > start && self->reach[low - 1] >= frame->line) {
		const struct type_site *site = &self->sites.data[self->order[--low]];

		if (!covers(site, frame->line, frame->column))
			continue;
		if (frame->column && found->count) {
			if (is_inside(site, found->sites[0]))
				found->count = 0;
			else if (!same_place(site, found->sites[0]))
				continue;
		}
		add_candidate(found, site, true);
	}
}

static bool is_multiple(const struct type_site *site, u64 bytes)
{
	if (bytes % site->size == 0)
		return true;
	/* Before a new array may stand its number of elements: 8 bytes, more if elements are
	 * aligned so. */
	return site->kind == SITE_NEW && bytes > 8 && (bytes - 8) % site->size == 0;
}

/* 0: no size is known or it is a multiple, 1: there is more than that (a flexible array), 2: cannot
 * be. */
static u32 misfit(const struct type_site *site, u64 bytes)
{
	if (!bytes || !site->size)
		return 0;
	if (bytes < site->size)
		return 2;
	if (site->how == HOW_SIZEOF) /* a part of a sum is no multiple */
		return 0;
	return is_multiple(site, bytes) ? 0 : 1;
}

/* The site's type, with the function's template arguments in it; NULL if it says none. */
static const char *site_type(const struct type_site *site, const char *function, char *text,
			     u64 room)
{
	struct strbuf filled = {0};
	bool good;

	if (!*site->type || (*site->function && strcmp(site->function, function)))
		return NULL;
	if (!*site->pattern)
		return site->type;
	good = pattern_fill(site->type, site->pattern, function, &filled) && filled.count < room;
	if (good)
		memcpy(text, strbuf_text(&filled), filled.count + 1);
	strbuf_release(&filled);
	return good ? text : NULL;
}

static enum type_index_confidence confidence_of(const struct type_site *site)
{
	return site->how == HOW_NEW || site->how == HOW_COUNTED || site->how == HOW_AGREED
		       ? TYPE_INDEX_EXACT
		       : TYPE_INDEX_LIKELY;
}

static void lower_to(struct type_index_answer *answer, enum type_index_confidence confidence)
{
	if (answer->confidence < confidence)
		answer->confidence = confidence;
}

/* Keeps the first type of those that fit best. An instantiation's own type goes before the
 * pattern. */
static bool choose(const struct candidates *found, const char *function, u64 bytes,
		   struct type_index_answer *answer)
{
	char text[sizeof answer->text];
	u32 best = UINT32_MAX, fitting = 0;
	bool own = false;

	*answer = (struct type_index_answer){.type = "", .written = ""};
	for (u32 i = 0; i < found->count; i++)
		own |= *found->sites[i]->function && !strcmp(found->sites[i]->function, function);
	for (u32 i = 0; i < found->count; i++) {
		const struct type_site *site = found->sites[i];
		const char *type = site_type(site, function, text, sizeof text);
		u32 rank = misfit(site, bytes);

		if (!type || (own && !*site->function) ||
		    (answer->types && !strcmp(type, answer->type)))
			continue;
		answer->types++;
		fitting += rank == 0;
		if (rank >= best)
			continue;
		best = rank;
		answer->site = site;
		answer->type = site->type;
		if (type == text)
			answer->type = strcpy(answer->text, text);
		answer->written = *site->written ? site->written : answer->type;
		answer->size = site->size;
	}
	if (!answer->types)
		return false;
	answer->confidence = confidence_of(answer->site);
	if (answer->types > 1)
		lower_to(answer, bytes && fitting == 1 && answer->site->how != HOW_SIZEOF
					 ? TYPE_INDEX_LIKELY
					 : TYPE_INDEX_GUESS);
	if (found->whole_line || found->other_path)
		lower_to(answer, TYPE_INDEX_LIKELY);
	if (best == 2 || (best == 1 && answer->site->kind == SITE_NEW))
		lower_to(answer, TYPE_INDEX_GUESS);
	return true;
}

bool type_index_find(const struct type_index *self, const struct symbol_frame *frame,
		     u64 size_bytes, struct type_index_answer *answer)
{
	struct candidates found = {0};

	find_place(self, frame, &found);
	return choose(&found, frame->function, size_bytes, answer);
}

/* Whether the site calls what the frame inside of it is. */
static bool calls(const struct type_site *site, const struct symbol_frame *inner)
{
	const char *callee = *site->callee ? site->callee : "operator new";
	struct strbuf base = {0};
	bool same;

	if (!strcmp(site->callee, "*")) /* called by a pointer */
		return true;
	function_base(inner->function, &base);
	while (!strncmp(callee, "__", 2)) /* function_base leaves these out, too */
		callee += 2;
	same = !strcmp(strbuf_text(&base), callee);
	strbuf_release(&base);
	return same;
}

/* Drops what the frame inside cannot have been called by. */
static void keep_callers(struct candidates *found, const struct symbol_frame *inner, bool passed)
{
	u32 kept = 0;

	for (u32 i = 0; i < found->count; i++) {
		const struct type_site *site = found->sites[i];

		if (inner ? calls(site, inner) && (passed || site->kind != SITE_WRAP)
			  : site->kind != SITE_WRAP)
			found->sites[kept++] = site;
	}
	found->count = kept;
}

static bool passes_on(const struct candidates *found)
{
	for (u32 i = 0; i < found->count; i++)
		if (found->sites[i]->how == HOW_NONE && found->sites[i]->gives_pointer)
			return true;
	return false;
}

bool type_index_find_stack(const struct type_index *self, const struct type_index_query *query,
			   struct type_index_answer *answer)
{
	const struct symbol_frame *inner = NULL;
	bool passed = true; /* each frame so far gives its caller what it got */

	for (u32 i = 0; i < query->frame_count; i++) {
		const struct symbol_frame *frame = &query->frames[i];
		struct candidates found = {0};

		find_place(self, frame, &found);
		keep_callers(&found, inner, passed);
		if (!found.count && inner && frame->column) {
			/* Compilers place some calls at the statement: what was called tells
			 * which. */
			struct symbol_frame line = *frame;

			line.column = 0;
			find_place(self, &line, &found);
			keep_callers(&found, inner, passed);
		}
		if (choose(&found, frame->function, query->size_bytes, answer)) {
			answer->frame = i;
			if (i)
				lower_to(answer,
					 passed || i == 1 ? TYPE_INDEX_LIKELY : TYPE_INDEX_GUESS);
			return true;
		}
		if (!passes_on(&found)) {
			if (found.count)
				return false;
			passed = false; /* not in the index: a caller that names it may know */
		}
		inner = frame;
	}
	return false;
}

bool type_index_locate(const char *program, struct strbuf *path)
{
	struct strbuf folder = {0};
	struct stat status;
	bool found = false;
	int fd;

	type_index_clean_path("", program, &folder);
	for (u32 i = 0; i < FOLDERS_MAX && folder.count && !found; i++) {
		char *slash = strrchr(folder.text, '/');

		if (!slash)
			break;
		*slash = 0;
		folder.count = (u64)(slash - folder.text);
		strbuf_clear(path);
		strbuf_addf(path, "%s/" TYPE_INDEX_NAME, folder.text);
		fd = path->failed ? -1 : io_open_regular(path->text, &status);
		found = fd >= 0;
		if (found)
			close(fd);
	}
	strbuf_release(&folder);
	return found;
}
