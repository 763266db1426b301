/* SPDX-License-Identifier: MIT
 * Reads a types index: lines of fields, checked one by one.
 * Runs on the host. Never believes a number of the file before it was compared with what is
 * there. */
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "host/symbols/types/index.h"

enum { BYTES_MAX = 1 << 30, FIELDS_MAX = 16, NUMBERS_MAX = 1 << 26, LINE_MAX_NUMBER = 1 << 30 };

struct reading {
	struct type_index *index;
	char *fields[FIELDS_MAX];
	u32 field_count;
	u64 line;
	u64 numbers; /* of files and sites in all units */
	bool ended;
};

/* Undoes \t \n \\ in place. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1]) {
			text++;
			*out++ = *text == 't' ? '\t' : *text == 'n' ? '\n' : *text;
		} else {
			*out++ = *text;
		}
	}
	*out = 0;
}

static void split(struct reading *self, char *line)
{
	self->field_count = 0;
	while (self->field_count < FIELDS_MAX) {
		char *tab = strchr(line, '\t');

		self->fields[self->field_count++] = line;
		if (!tab)
			break;
		*tab = 0;
		line = tab + 1;
	}
	for (u32 i = 0; i < self->field_count; i++)
		unescape(self->fields[i]);
}

/* Digits up to something else, at most max; false if there are none. */
static bool digits(const char **at, u64 max, u64 *number)
{
	const char *text = *at;
	u64 value = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		u64 digit = (u64)(*text - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*at = text;
	*number = value;
	return value <= max;
}

static bool number(const char *text, u64 max, u64 *value)
{
	return digits(&text, max, value) && !*text;
}

static bool number32(const char *text, u64 max, u32 *value)
{
	u64 wide;

	if (!number(text, max, &wide))
		return false;
	*value = (u32)wide;
	return true;
}

static const char *keep(struct reading *self, u32 field)
{
	const char *text = self->fields[field];

	return *text ? arena_copy(&self->index->arena, text) : "";
}

static bool read_file(struct reading *self)
{
	struct type_file file = {0};

	if (self->field_count != 4 || !number(self->fields[1], UINT64_MAX, &file.mtime_ns) ||
	    !number(self->fields[2], UINT64_MAX, &file.bytes))
		return false;
	file.path = keep(self, 3);
	return file.path && self->index->files.count < UINT32_MAX &&
	       vec_push(&self->index->files, file);
}

static bool is_one_of(char c, const char *letters) { return c && strchr(letters, c); }

static bool read_site(struct reading *self)
{
	struct type_site site = {0};
	char **f = self->fields;

	if (self->field_count != 13 || !self->index->files.count ||
	    !number32(f[1], self->index->files.count - 1, &site.file) ||
	    !number32(f[2], LINE_MAX_NUMBER, &site.line) ||
	    !number32(f[3], LINE_MAX_NUMBER, &site.column) ||
	    !number32(f[4], LINE_MAX_NUMBER, &site.end_line) ||
	    !number32(f[5], LINE_MAX_NUMBER, &site.end_column) ||
	    !number(f[7], UINT64_MAX, &site.size))
		return false;
	if (strlen(f[6]) != 3 || !is_one_of(f[6][0], "ncw") || !is_one_of(f[6][1], "ndactsob-") ||
	    !is_one_of(f[6][2], "p-") || site.end_line < site.line)
		return false;
	site.kind = (u8)f[6][0];
	site.how = (u8)f[6][1];
	site.gives_pointer = f[6][2] == 'p';
	site.type = keep(self, 8);
	site.written = keep(self, 9);
	site.callee = keep(self, 10);
	site.pattern = keep(self, 11);
	site.function = keep(self, 12);
	return site.type && site.written && site.callee && site.pattern && site.function &&
	       self->index->sites.count < UINT32_MAX && vec_push(&self->index->sites, site);
}

/* "0 3-7 9": ascending numbers below limit. */
static bool add_numbers(struct reading *self, const char *text, u64 limit, struct u32_list *list)
{
	u64 next = 0;

	while (*text) {
		u64 low, high;

		if (!limit || !digits(&text, limit - 1, &low))
			return false;
		high = low;
		if (*text == '-') {
			text++;
			if (!digits(&text, limit - 1, &high))
				return false;
		}
		self->numbers += high - low + 1;
		if (low < next || high < low || self->numbers > NUMBERS_MAX)
			return false;
		next = high + 1;
		for (; low <= high; low++)
			if (!vec_push(list, (u32)low))
				return false;
		if (*text == ' ')
			text++;
		else if (*text)
			return false;
	}
	return true;
}

static bool read_unit(struct reading *self)
{
	struct type_unit unit = {0};
	struct type_index *index = self->index;

	if (self->field_count != 5 || !number(self->fields[1], UINT64_MAX, &unit.key))
		return false;
	unit.main_file = keep(self, 2);
	if (unit.main_file && add_numbers(self, self->fields[3], index->files.count, &unit.files) &&
	    add_numbers(self, self->fields[4], index->sites.count, &unit.sites) &&
	    vec_push(&index->units, unit))
		return true;
	vec_release(&unit.files);
	vec_release(&unit.sites);
	return false;
}

static bool read_line(struct reading *self, char *line)
{
	split(self, line);
	if (self->ended || strlen(self->fields[0]) != 1)
		return false;
	switch (*self->fields[0]) {
	case 'f': return read_file(self);
	case 's': return read_site(self);
	case 'u': return read_unit(self);
	case 'e': self->ended = true; return true;
	default: /* of a later version */ return true;
	}
}

static int read_head(const char *line, struct err *err)
{
	static const char head[] = "heapwise-types ";
	u64 version;

	if (strncmp(line, head, sizeof head - 1) ||
	    !number(line + sizeof head - 1, 1 << 20, &version))
		return err_set(err, ERR_INPUT, "the file is not a type index");
	if (version != TYPE_INDEX_VERSION)
		return err_set(err, ERR_INPUT,
			       "the index has version %llu, but this heapwise reads version %d; "
			       "build it again with 'heapwise trace types-index'",
			       (unsigned long long)version, TYPE_INDEX_VERSION);
	return 0;
}

static int read_lines(struct type_index *index, char *text, struct err *err)
{
	struct reading self = {.index = index};

	while (*text) {
		char *end = strchr(text, '\n');

		if (!end)
			return err_set(err, ERR_INPUT,
				       "the index is truncated in line %llu; build it again",
				       (unsigned long long)self.line + 1);
		*end = 0;
		self.line++;
		if (self.line == 1) {
			if (read_head(text, err))
				return ERR_INPUT;
		} else if (!read_line(&self, text)) {
			return err_set(err, ERR_INPUT, "line %llu of the index cannot be read",
				       (unsigned long long)self.line);
		}
		text = end + 1;
	}
	if (!self.line)
		return err_set(err, ERR_INPUT, "the file is not a type index");
	return self.ended ? 0 : err_set(err, ERR_INPUT, "the index is truncated; build it again");
}

struct type_index *type_index_parse(const char *text, u64 bytes, struct err *err)
{
	struct type_index *self = calloc(1, sizeof *self);
	char *copy = malloc(bytes + 1);
	int status = ERR_MEMORY;

	if (!self || !copy) {
		err_memory(err);
		goto done;
	}
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	if (strlen(copy) != bytes)
		status = err_set(err, ERR_INPUT, "the file is not a type index");
	else
		status = read_lines(self, copy, err);
	if (!status)
		status = type_index_sort(self, err);
done:
	free(copy);
	if (!status)
		return self;
	type_index_free(self);
	return NULL;
}

struct type_index *type_index_load(const char *path, struct err *err)
{
	struct type_index *self = NULL;
	struct strbuf text = {0};

	if (!io_read_file(path, BYTES_MAX, &text, err)) {
		self = type_index_parse(strbuf_text(&text), text.count, err);
		if (!self)
			err_prefix(err, "%s", path);
	}
	strbuf_release(&text);
	return self;
}

void type_index_free(struct type_index *self)
{
	if (!self)
		return;
	for (u64 i = 0; i < self->units.count; i++) {
		vec_release(&self->units.data[i].files);
		vec_release(&self->units.data[i].sites);
	}
	vec_release(&self->files);
	vec_release(&self->sites);
	vec_release(&self->units);
	free(self->order);
	free(self->reach);
	free(self->first);
	free(self->by_base);
	arena_release(&self->arena);
	free(self);
}
