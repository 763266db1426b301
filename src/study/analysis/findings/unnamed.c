/* SPDX-License-Identifier: MIT
 * Bytes without names, and what helps.
 * Host. */
#include "study/analysis/findings/unnamed.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/keyed.h"
#include "host/base/path.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/places/folds.h"
#include "study/analysis/places/modules.h"
#include "host/base/units.h"
#include "host/symbols/debug_find.h"
#include "host/symbols/remedy.h"

enum {
	MODULES_SHOWN = 3,
	PART = 10,       /* more than one part in ten is worth a sentence */
	SHOWN_PART = 100 /* and a module one in a hundred */
};

/* ---- how many bytes ---- */

struct unnamed_module {
	const char *path; /* the model's; "" = code that is in no file */
	u64 bytes;
};

struct unnamed {                            /* all zero = empty */
	VEC(struct unnamed_module) modules; /* most bytes first */
	u64 bytes;                          /* requested at places whose function has no name */
	/* at all places of the program and its libraries, but for those of the language */
	u64 of_bytes;
};

static bool add(struct unnamed *self, struct map *by_path, const char *path, u64 bytes)
{
	struct unnamed_module *row =
		vec_at_key(&self->modules, by_path, hash_text(HASH_START, path),
			   (struct unnamed_module){path, 0});

	if (!row)
		return false;
	row->bytes += bytes;
	self->bytes += bytes;
	return true;
}

static int most_first(const void *a, const void *b)
{
	const struct unnamed_module *x = a, *y = b;

	return falling(x->bytes, y->bytes) ?: strcmp(x->path, y->path);
}

/* Looks once at each point. */
static int points_sum(struct unnamed *self, const struct stack_source *source, struct err *err)
{
	const struct model *model = source->model;
	struct map by_path = {0};
	bool done = true;

	for (u64 i = 0; i < model->points.count && done; i++) {
		const struct model_point *point = &model->points.data[i];
		struct finding_place place;

		if (!point->frame.index)
			continue; /* no stack was recorded, which names would not change */
		place = finding_own(source, point->frame);
		if (place.foreign)
			/* what the C++ library sets aside for itself is nobody's concern */
			continue;
		self->of_bytes += point->bytes;
		if (!*place.own.function)
			done = add(self, &by_path, place.own.module, point->bytes);
	}
	map_release(&by_path);
	vec_sort(&self->modules, most_first);
	return done ? 0 : err_memory_for(err, "modules");
}

/* A trace has one such share, whatever wrappers the user folds. */
static int unnamed_find(struct unnamed *self, const struct stack_source *source, struct err *err)
{
	struct stack_source usual = *source;
	struct folds folds = {0};
	int status = 0;

	if (!source->folds || !source->folds->usual) {
		status = folds_find(&folds, source, NULL, err);
		usual.folds = &folds;
	}
	if (status == 0)
		status = points_sum(self, &usual, err);
	folds_release(&folds);
	return status;
}

/* ---- what helps ---- */

struct advice {
	const struct unnamed *unnamed;
	const struct stack_source *source;
	u32 count;     /* of modules that are named */
	bool packages; /* they were looked for */
	struct symbolizer_module modules[MODULES_SHOWN];
	struct remedy remedies[MODULES_SHOWN];
};

/* Modules of the same path are one; a row without one is of code in no file. */
static void describe(struct advice *self, const struct module_list *list)
{
	for (u32 i = 0; i < self->count; i++) {
		self->modules[i] =
			(struct symbolizer_module){.path = self->unnamed->modules.data[i].path};
		for (u64 k = 0; k < list->rows.count; k++)
			if (strcmp(list->rows.data[k].path, self->modules[i].path) == 0)
				self->modules[i] = list->rows.data[k];
	}
}

static void put_modules(const struct advice *self, struct strbuf *out)
{
	static const char *const states[] = {[REMEDY_GONE] = "not found",
					     [REMEDY_REPLACED] = "replaced since",
					     [REMEDY_STRIPPED] = "stripped",
					     [REMEDY_NAMED] = "not looked up"};
	const struct unnamed *unnamed = self->unnamed;

	for (u32 i = 0; i < self->count; i++) {
		const struct unnamed_module *row = &unnamed->modules.data[i];
		struct unit_text share = units_percent(units_share(row->bytes, unnamed->of_bytes));

		strbuf_add(out, i ? ", " : ": ");
		if (*row->path)
			strbuf_addf(out, "%s (%s, %s)", path_file(row->path), share.text,
				    states[self->remedies[i].state]);
		else
			strbuf_addf(out, "JIT or other code outside files (%s)", share.text);
	}
	if (unnamed->modules.count > self->count)
		strbuf_addf(out, ", and %s more",
			    units_count(unnamed->modules.count - self->count).text);
}

/* One more thing to do. */
static void put_step(struct strbuf *steps, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void put_step(struct strbuf *steps, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	strbuf_add(steps, steps->count ? "; " : "");
	strbuf_vaddf(steps, format, args);
	va_end(args);
}

/* Whether a remedy before this one installs the same. */
static bool is_installed(const struct advice *self, u32 number)
{
	for (u32 i = 0; i < number; i++)
		if (strcmp(self->remedies[i].install, self->remedies[number].install) == 0)
			return true;
	return false;
}

/* One command for all packages: what stands before the last word is the same. */
static void put_packages(const struct advice *self, const char *trace, struct strbuf *steps)
{
	struct strbuf command = {0};
	const char *archive = "";

	for (u32 i = 0; i < self->count; i++) {
		const struct remedy *remedy = &self->remedies[i];

		if (!*remedy->install || is_installed(self, i))
			continue;
		strbuf_add(&command,
			   command.count ? strrchr(remedy->install, ' ') : remedy->install);
		if (*remedy->archive)
			archive = remedy->archive;
	}
	if (*archive)
		strbuf_addf(&command, " (needs %s in apt's sources)", archive);
	if (command.count && !debug_servers_named())
		strbuf_addf(&command, " or set DEBUGINFOD_URLS=%s", remedy_server(""));
	if (command.count)
		put_step(steps, "%s, then run 'heapwise trace symbolize %s'", strbuf_text(&command),
			 trace);
	strbuf_release(&command);
}

static void put_others(const struct advice *self, const char *trace, struct strbuf *steps)
{
	for (u32 i = 0; i < self->count; i++) {
		const struct remedy *remedy = &self->remedies[i];
		const char *path = self->modules[i].path, *name = path_file(path);

		if (!*name)
			put_step(steps, "let the runtime write /tmp/perf-PID.map for the code it "
					"generates");
		else if (remedy->state == REMEDY_GONE)
			put_step(steps, "restore %s, then run 'heapwise trace symbolize %s'", path,
				 trace);
		else if (remedy->state == REMEDY_REPLACED)
			put_step(steps, "record again: %s was rebuilt since", name);
		else if (remedy->state == REMEDY_NAMED)
			put_step(steps, "run 'heapwise trace symbolize %s' for %s", trace, name);
		else if (!self->packages)
			put_step(steps,
				 "install the debug file of %s, then run 'heapwise trace "
				 "symbolize %s'",
				 name, trace);
		else if (!*remedy->install)
			put_step(steps,
				 "build %s with -g, do not strip it, and record again, or "
				 "run 'heapwise trace symbolize --debug-path DIR %s' with "
				 "the folder of its debug file",
				 name, trace);
	}
}

static void put_advice(const struct advice *self, struct strbuf *out)
{
	const char *path = self->source->path, *trace = path && strlen(path) <= 60 ? path : "FILE";
	struct strbuf steps = {0};

	strbuf_addf(out, "no function names for %s of the bytes",
		    units_percent(units_share(self->unnamed->bytes, self->unnamed->of_bytes)).text);
	put_modules(self, out);
	put_packages(self, trace, &steps);
	put_others(self, trace, &steps);
	strbuf_addf(out, ". Remedy: %s", strbuf_text(&steps));
	strbuf_release(&steps);
}

static u32 count_shown(const struct unnamed *self)
{
	u32 count = 0;

	while (count < self->modules.count && count < MODULES_SHOWN &&
	       (!count || self->modules.data[count].bytes >= self->of_bytes / SHOWN_PART))
		count++;
	return count;
}

bool unnamed_advice(const struct stack_source *source, bool packages, struct strbuf *out)
{
	struct unnamed unnamed = {0};
	struct module_list list = {0};
	struct advice advice = {.unnamed = &unnamed, .source = source, .packages = packages};
	struct err err = {0};
	bool matters = source->symbols && unnamed_find(&unnamed, source, &err) == 0 &&
		       unnamed.bytes > unnamed.of_bytes / PART;

	if (matters && module_list_fill(&list, source->model)) {
		advice.count = count_shown(&unnamed);
		describe(&advice, &list);
		remedy_find(packages ? "" : NULL, advice.modules, advice.count, advice.remedies);
		put_advice(&advice, out);
	}
	module_list_release(&list);
	vec_release(&unnamed.modules);
	return matters;
}

void unnamed_add_caveat(const struct stack_source *source, bool packages, struct result *result)
{
	struct strbuf text = {0};

	if (unnamed_advice(source, packages, &text))
		result_add_caveat(result, "%s", strbuf_text(&text));
	strbuf_release(&text);
}
