/* SPDX-License-Identifier: MIT
 * Fuzz entry of the import of HeapLog dumps: a dump that is taken gives a trace that loads, with as many
 * chunks, and whose export is taken again. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/base/io.h"
#include "show/formats/export.h"
#include "show/formats/heaplog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void export_to(const char *trace, const char *path, u64 entries)
{
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct heaplog_options options = {.tick_ns = 1};
	struct model *model = model_new();
	struct symbol_table symbols = {0};
	struct export_job job = {.path = trace,
				 .stacks = {.model = model, .symbols = &symbols},
				 .heaplog = &options};
	struct err err = {0};
	FILE *out = fopen(path, "we");

	if (!model || !out || model_load(model, trace, &how, NULL, &err) < 0 ||
	    model->strange_events || model->strange_types || model->chunks.count != entries ||
	    trace_read_symbols(trace, &symbols, &err) < 0 || heaplog_export(&job, out, &err) < 0)
		abort(); /* our own trace */
	fclose(out);
	model_free(model);
	symbol_table_release(&symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char folder[] = "/tmp/fuzz-heaplog-XXXXXX", from[64], to[64], *files[] = {from};
	struct heaplog_import how = {.from = files, .from_count = 1, .to = to, .tick_ns = 1};
	struct heaplog_summary summary, again;
	struct err err = {0};

	if (!mkdtemp(folder))
		return 0;
	snprintf(from, sizeof(from), "%s/text", folder);
	snprintf(to, sizeof(to), "%s/trace", folder);
	if (io_write_file(from, data, size, &err) == 0 && heaplog_import(&how, &summary, &err) == 0) {
		export_to(to, from, summary.entries);
		if (heaplog_import(&how, &again, &err) < 0 || again.entries != summary.entries ||
		    again.freed != summary.freed)
			abort();
	}
	unlink(from);
	unlink(to);
	rmdir(folder);
	return 0;
}
