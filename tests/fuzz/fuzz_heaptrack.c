/* SPDX-License-Identifier: MIT
 * Fuzz entry of the import of heaptrack's files: one that is taken gives a trace that loads, with as many
 * chunks and frees. Both files lie in memory, if there is room for files in it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/base/io.h"
#include "show/formats/heaptrack.h"
#include "study/model/model.h"
#include "host/trace/symtab.h"

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

static struct {
	char folder[64], from[96], to[96];
} it;

static void clean_up(void)
{
	unlink(it.from);
	unlink(it.to);
	rmdir(it.folder);
}

static void start(void)
{
	snprintf(it.folder, sizeof(it.folder), "%s/fuzz-heaptrack-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(it.folder))
		abort();
	snprintf(it.from, sizeof(it.from), "%s/file", it.folder);
	snprintf(it.to, sizeof(it.to), "%s/trace", it.folder);
	atexit(clean_up);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heaptrack_import how = {.from = it.from, .to = it.to};
	struct heaptrack_summary summary;
	struct err err = {0};

	if (!it.from[0])
		start();
	if (io_write_file(it.from, data, size, &err) == 0 && heaptrack_import(&how, &summary, &err) == 0)
		check_trace(it.to, &summary);
	return 0;
}
