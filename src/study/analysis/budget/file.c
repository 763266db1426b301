/* SPDX-License-Identifier: MIT
 * Budgets from a TOML file.
 * Host. Whatever the file says that is not understood is an error: a limit that is misspelt must
 * not pass for one that is kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/budget/budget.h"
#include "study/analysis/places/suppressions.h"
#include "host/base/io.h"
#include "host/base/options.h"
#include "host/base/toml.h"

static const char *const limit_names[COMPARE_METRICS] = {[COMPARE_BYTES] = "max-bytes",
							 [COMPARE_ALLOCATIONS] = "max-allocs",
							 [COMPARE_PEAK] = "max-peak",
							 [COMPARE_KEPT] = "max-kept",
							 [COMPARE_TEMPORARY] = "max-temporary"};
static const char *const scope_names[BUDGET_SCOPES] = {[BUDGET_PROGRAM] = "",
						       [BUDGET_FUNCTION] = "function",
						       [BUDGET_TYPE] = "type",
						       [BUDGET_MODULE] = "module",
						       [BUDGET_FILE] = "file"};

const char *budget_limit_name(enum compare_metric metric) { return limit_names[metric]; }

/* ---- patterns ---- */

/* pattern is "^…$". */
static bool matches_part(const char *pattern, const char *name, size_t length)
{
	char small[256];
	char *copy = length < sizeof small ? small : malloc(length + 1);
	bool matches;

	if (!copy)
		return false;
	memcpy(copy, name, length);
	copy[length] = 0;
	matches = suppression_matches(pattern, copy);
	if (copy != small)
		free(copy);
	return matches;
}

bool budget_matches(const struct budget *self, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t length = strlen(name), bare = strcspn(name, "(");

	if (suppression_matches(self->pattern, name))
		return true;
	if (self->scope == BUDGET_FUNCTION)
		return bare && bare < length && matches_part(self->pattern, name, bare);
	if (self->scope == BUDGET_MODULE || self->scope == BUDGET_FILE)
		return slash && suppression_matches(self->pattern, slash + 1);
	return false;
}

bool budget_parse_growth(const char *text, double *growth)
{
	char *end;
	double percent;

	if (*text < '0' || *text > '9' || strpbrk(text, "xXeE"))
		return false;
	percent = strtod(text, &end);
	if (*end == ' ')
		end++;
	*growth = percent / 100;
	return (!*end || strcmp(end, "%") == 0) && isfinite(percent);
}

/* ---- the file ---- */

struct file {
	struct budgets *out;
	const char *path;
	struct toml toml;
	struct err *err;
};

#define refuse(self, at, ...) refuse_at(self, (at)->place, __VA_ARGS__)
#define refuse_at(self, place, ...) toml_refuse((self)->err, (self)->path, place, __VA_ARGS__)

static const char *keep(struct file *self, const char *text)
{
	return arena_copy(&self->out->arena, text);
}

static int take_bytes(struct file *self, const struct toml_entry *entry, u64 *bytes)
{
	const struct toml_value *value = &entry->value;

	if (value->type == TOML_INTEGER && value->integer >= 0)
		*bytes = (u64)value->integer;
	else if (value->type != TOML_STRING || !parse_bytes(value->text, bytes))
		return refuse(self, value, "%s must be a size such as 4096, \"64K\" or \"1.5G\"",
			      entry->key);
	return 0;
}

static int take_limit(struct file *self, struct budget *to, enum compare_metric metric,
		      const struct toml_entry *entry)
{
	const struct toml_value *value = &entry->value;

	to->has[metric] = true;
	if (compare_metric_is_bytes(metric))
		return take_bytes(self, entry, &to->max[metric]);
	if (value->type != TOML_INTEGER || value->integer < 0)
		return refuse(self, value, "%s must be a number, 0 or greater", entry->key);
	to->max[metric] = (u64)value->integer;
	return 0;
}

/* A percentage: "5%", 5 or 2.5. */
static int take_growth(struct file *self, struct budget *to, const struct toml_entry *entry)
{
	const struct toml_value *value = &entry->value;

	to->has_growth = true;
	if (value->type == TOML_INTEGER && value->integer >= 0)
		to->growth = (double)value->integer / 100;
	else if (value->type == TOML_REAL && value->real >= 0)
		to->growth = value->real / 100;
	else if (value->type != TOML_STRING || !budget_parse_growth(value->text, &to->growth))
		return refuse(self, value,
			      "max-growth must be a percentage such as \"5%%\" or 2.5");
	return 0;
}

static int take_growth_of(struct file *self, struct budget *to, const struct toml_entry *entry)
{
	const struct toml_value *value = &entry->value;

	to->growth_of = 0;
	if (value->type != TOML_ARRAY || !value->count)
		return refuse(self, value,
			      "growth-of must be an array such as [\"peak\", \"kept\"]");
	for (u32 i = 0; i < value->count; i++) {
		const struct toml_value *item = &value->items[i];
		enum compare_metric metric;

		if (item->type != TOML_STRING || !compare_metric_parse(item->text, &metric))
			return refuse(self, item,
				      "growth-of must list bytes, allocations, peak, kept or "
				      "temporary");
		to->growth_of |= 1u << metric;
	}
	return 0;
}

static int take_text(struct file *self, const struct toml_entry *entry, const char **to)
{
	if (entry->value.type != TOML_STRING || !*entry->value.text)
		return refuse(self, &entry->value, "%s must be a string, not %s", entry->key,
			      entry->value.type == TOML_STRING ? "an empty one"
							       : toml_type_name(entry->value.type));
	*to = keep(self, entry->value.text);
	return *to ? 0 : err_memory_for(self->err, "budgets");
}

static int take_scope(struct file *self, struct budget *to, enum budget_scope scope,
		      const struct toml_entry *entry)
{
	struct strbuf pattern = {0};
	const char *text;
	int status;

	if (to->scope != BUDGET_PROGRAM)
		return refuse(self, entry, "this budget already has a %s; write another [[budget]]",
			      scope_names[to->scope]);
	status = take_text(self, entry, &text);
	if (status < 0)
		return status;
	to->scope = scope;
	strbuf_addf(&pattern, "^%s$", text);
	to->pattern = pattern.failed ? NULL : keep(self, strbuf_text(&pattern));
	strbuf_release(&pattern);
	return to->pattern ? 0 : err_memory_for(self->err, "budgets");
}

/* A path in the file is meant from where the file is. */
static int take_baseline(struct file *self, const struct toml_entry *entry)
{
	const char *slash = strrchr(self->path, '/'), *name;
	struct strbuf path = {0};
	int status = take_text(self, entry, &name);

	if (status < 0)
		return status;
	if (slash && *name != '/')
		strbuf_add_bytes(&path, self->path, (u64)(slash + 1 - self->path));
	strbuf_add(&path, name);
	self->out->baseline = path.failed ? NULL : keep(self, strbuf_text(&path));
	strbuf_release(&path);
	return self->out->baseline ? 0 : err_memory_for(self->err, "budgets");
}

static int unknown_key(struct file *self, const struct toml_entry *entry, bool whole)
{
	static const char *const others[] = {"max-growth", "growth-of", "name", "baseline"};
	const char *nearest = NULL;
	u32 best = 4;

	for (u32 i = 0; i < COMPARE_METRICS + BUDGET_SCOPES + 4; i++) {
		const char *name = i < COMPARE_METRICS ? limit_names[i]
				   : i < COMPARE_METRICS + BUDGET_SCOPES
					   ? scope_names[i - COMPARE_METRICS]
					   : others[i - COMPARE_METRICS - BUDGET_SCOPES];
		u32 distance =
			*name && strlen(entry->key) < 40 ? word_distance(entry->key, name) : 9;

		if (distance && distance < best) {
			best = distance;
			nearest = name;
		}
	}
	if (nearest)
		return refuse(self, entry, "unknown key '%.60s': did you mean %s?", entry->key,
			      nearest);
	return refuse(self, entry, "'%.60s' has no meaning %s", entry->key,
		      whole ? "here; put a function, type, module or file into a [[budget]]"
			    : "in a budget");
}

/* whole: of the program, before the first [[budget]]. */
static int take_entry(struct file *self, struct budget *to, const struct toml_entry *entry,
		      bool whole)
{
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		if (strcmp(entry->key, limit_names[i]) == 0)
			return take_limit(self, to, (enum compare_metric)i, entry);
	for (u32 i = 1; i < BUDGET_SCOPES && !whole; i++)
		if (strcmp(entry->key, scope_names[i]) == 0)
			return take_scope(self, to, (enum budget_scope)i, entry);
	if (strcmp(entry->key, "max-growth") == 0)
		return take_growth(self, to, entry);
	if (strcmp(entry->key, "growth-of") == 0)
		return take_growth_of(self, to, entry);
	if (whole && strcmp(entry->key, "baseline") == 0)
		return take_baseline(self, entry);
	if (!whole && strcmp(entry->key, "name") == 0)
		return take_text(self, entry, &to->name);
	return unknown_key(self, entry, whole);
}

static bool has_limit(const struct budget *self)
{
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		if (self->has[i])
			return true;
	return self->has_growth;
}

/* The entries of one table are one budget. */
static int take_table(struct file *self, u32 number)
{
	const struct toml_table *table = &self->toml.tables.data[number];
	struct budget fresh = {.growth_of = BUDGET_GROWTH_OF, .line = table->line};
	struct budget *to = number ? &fresh : &self->out->list.data[0];
	struct toml_place start = {table->line, 1};
	int status = 0;

	if (number && (strcmp(table->name, "budget") != 0 || !table->array))
		return refuse_at(self, start, "unknown table; only [[budget]] tables are known");
	for (u64 i = 0; i < self->toml.entries.count && status == 0; i++)
		if (self->toml.entries.data[i].table == number)
			status = take_entry(self, to, &self->toml.entries.data[i], !number);
	if (status < 0 || !number)
		return status;
	if (fresh.scope == BUDGET_PROGRAM)
		return refuse_at(self, start, "this budget needs a function, type, module or file");
	if (!has_limit(&fresh))
		return refuse_at(self, start,
				 "this budget needs a limit: max-peak, max-bytes, max-allocs, "
				 "max-kept, max-temporary or max-growth");
	return vec_push(&self->out->list, fresh) ? 0 : err_memory_for(self->err, "budgets");
}

int budgets_parse(struct budgets *self, const char *text, u64 bytes, const char *path,
		  struct err *err)
{
	struct file file = {.out = self, .path = path, .err = err};
	int status = toml_read(&file.toml, text, bytes, path, err);

	for (u32 i = 0; status == 0 && i < file.toml.tables.count; i++)
		status = take_table(&file, i);
	toml_release(&file.toml);
	self->file = arena_copy(&self->arena, path);
	return status;
}

int budgets_read(struct budgets *self, const char *path, struct err *err)
{
	struct strbuf text = {0};
	int status = io_read_file(path, TOML_MAX_BYTES, &text, err);

	if (status == 0)
		status = budgets_parse(self, strbuf_text(&text), text.count, path, err);
	strbuf_release(&text);
	return status;
}

int budgets_init(struct budgets *self, struct err *err)
{
	return vec_push(&self->list, (struct budget){.growth_of = BUDGET_GROWTH_OF})
		       ? 0
		       : err_memory_for(err, "budgets");
}

void budgets_release(struct budgets *self)
{
	vec_release(&self->list);
	arena_release(&self->arena);
}

bool budgets_have_limits(const struct budgets *self)
{
	for (u64 i = 0; i < self->list.count; i++)
		if (has_limit(&self->list.data[i]))
			return true;
	return false;
}

bool budgets_have_growth(const struct budgets *self)
{
	for (u64 i = 0; i < self->list.count; i++)
		if (self->list.data[i].has_growth)
			return true;
	return false;
}

bool budgets_have_types(const struct budgets *self)
{
	for (u64 i = 0; i < self->list.count; i++)
		if (self->list.data[i].scope == BUDGET_TYPE)
			return true;
	return false;
}
