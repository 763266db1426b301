/* SPDX-License-Identifier: MIT
 * Fuzz entry of the import of heaptrack's files: one that is taken gives a trace that loads, with as many
 * chunks and frees. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "exchange/heaptrack.h"
#include "model/model.h"
#include "trace/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_trace(const char *path, const struct heaptrack_summary *summary)
{
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct model *model = model_new();
	struct symbol_table symbols = {0};
	struct err err = {0};

	if (!model || model_load(model, path, &how, NULL, &err) < 0 || model->strange_events ||
	    model->chunks.count != summary->allocations ||
	    model->recorded_frees + model->unknown_frees != summary->frees ||
	    model->unknown_frees != summary->unknown_frees ||
	    trace_read_symbols(path, &symbols, &err) < 0)
		abort(); /* our own trace */
	model_free(model);
	symbol_table_release(&symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char folder[] = "/tmp/fuzz-heaptrack-XXXXXX", from[64], to[64];
	struct heaptrack_import how = {.from = from, .to = to};
	struct heaptrack_summary summary;
	struct err err = {0};

	if (!mkdtemp(folder))
		return 0;
	snprintf(from, sizeof(from), "%s/file", folder);
	snprintf(to, sizeof(to), "%s/trace", folder);
	if (io_write_file(from, data, size, &err) == 0 && heaptrack_import(&how, &summary, &err) == 0)
		check_trace(to, &summary);
	unlink(from);
	unlink(to);
	rmdir(folder);
	return 0;
}
