/* SPDX-License-Identifier: MIT
 * A trace in the format of callgrind's profiles, for callgrind_annotate and KCachegrind: what a
 * function allocates itself by line, and what its calls lead to.
 * Host. */
#include <inttypes.h>

#include "host/base/text.h"
#include "show/formats/measured.h"

struct annotating {
	struct measured_calls sums;
	VEC(u8) named;    /* by function: its name was told */
	struct map files; /* address of a file's name → number */
	FILE *out;
};

static void put_clean(const char *text, FILE *out) { text_put(out, text, "", ' '); }

/* "(12) name" the first time, "(12)" later. */
static void put_name(struct annotating *self, const char *key, u32 function)
{
	fprintf(self->out, "%s=(%" PRIu32 ")", key, function + 1);
	if (!self->named.data[function]) {
		fputc(' ', self->out);
		put_clean(self->sums.places.functions.data[function].name, self->out);
	}
	self->named.data[function] = 1;
	fputc('\n', self->out);
}

/* Files of one trace are kept once, so their addresses tell them apart. */
static void put_file(struct annotating *self, const char *key, u32 function)
{
	const char *file = self->sums.places.functions.data[function].file;
	u64 *known = map_at(&self->files, (u64)(uintptr_t)file);

	if (!known)
		return;
	if (*known) {
		fprintf(self->out, "%s=(%" PRIu64 ")\n", key, *known);
		return;
	}
	*known = map_count(&self->files);
	fprintf(self->out, "%s=(%" PRIu64 ") ", key, *known);
	put_clean(*file ? file : "???", self->out);
	fputc('\n', self->out);
}

static void put_values(struct annotating *self, u32 line, const struct measures *sum)
{
	fprintf(self->out, "%" PRIu32, line);
	for (u32 i = 0; i < EXPORT_METRICS; i++)
		fprintf(self->out, " %" PRIu64, sum->of[i]);
	fputc('\n', self->out);
}

static void put_head(struct annotating *self, const struct export_job *job)
{
	struct result *caveats = export_caveats(job);

	fprintf(self->out,
		"# callgrind format\nversion: 1\ncreator: heapwise " HEAPWISE_VERSION
		"\npid: %" PRIu32 "\ncmd: ",
		job->stacks.model->image.pid);
	put_clean(job->stacks.model->image.command, self->out);
	fprintf(self->out, "\npart: 1\ndesc: Complete: %s\n", export_complete(job) ? "yes" : "no");
	for (u64 i = 0; caveats && i < caveats->caveats.count; i++)
		fprintf(self->out, "desc: Caveat: %s\n", caveats->caveats.data[i]);
	result_free(caveats);
	fputs("positions: line\n", self->out);
	for (u32 i = 0; i < EXPORT_METRICS; i++)
		fprintf(self->out, "event: %s : %s\n", export_metric_word((enum export_metric)i),
			export_metric_title((enum export_metric)i));
	fputs("events:", self->out);
	for (u32 i = 0; i < EXPORT_METRICS; i++)
		fprintf(self->out, " %s", export_metric_word((enum export_metric)i));
	fputs("\nsummary:", self->out);
	for (u32 i = 0; i < EXPORT_METRICS; i++)
		fprintf(self->out, " %" PRIu64, self->sums.sum.of[i]);
	fputs("\n", self->out);
}

/* How often a call was made is not known: it counts as often as something was allocated behind
 * it. */
static void put_call(struct annotating *self, const struct measured_call *call)
{
	put_file(self, "cfi", call->callee);
	put_name(self, "cfn", call->callee);
	fprintf(self->out, "calls=%" PRIu64 " 0\n", call->sum.of[EXPORT_ALLOCS]);
	put_values(self, call->line, &call->sum);
}

static void begin_function(struct annotating *self, u32 function, bool *begun)
{
	if (*begun)
		return;
	*begun = true;
	fputc('\n', self->out);
	put_file(self, "fl", function);
	put_name(self, "fn", function);
}

static void put_functions(struct annotating *self)
{
	const struct measured_calls *sums = &self->sums;
	u64 line = 0, call = 0;

	for (u32 function = 0; function < sums->places.functions.count; function++) {
		bool begun = false;

		for (; line < sums->lines.count && sums->lines.data[line].function == function;
		     line++) {
			begin_function(self, function, &begun);
			put_values(self, sums->lines.data[line].line, &sums->lines.data[line].sum);
		}
		for (; call < sums->calls.count && sums->calls.data[call].caller == function;
		     call++) {
			begin_function(self, function, &begun);
			put_call(self, &sums->calls.data[call]);
		}
	}
}

int callgrind_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct annotating self = {.out = out};
	int status = measured_calls_build(&self.sums, job, true, err);

	if (status == 0 && !vec_extend(&self.named, self.sums.places.functions.count))
		status = err_memory_for(err, "the export");
	if (status == 0) {
		put_head(&self, job);
		put_functions(&self);
		fputs("\ntotals:", out);
		for (u32 i = 0; i < EXPORT_METRICS; i++)
			fprintf(out, " %" PRIu64, self.sums.sum.of[i]);
		fputs("\n", out);
	}
	measured_calls_release(&self.sums);
	vec_release(&self.named);
	map_release(&self.files);
	return status;
}
