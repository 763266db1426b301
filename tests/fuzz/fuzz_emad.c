/* SPDX-License-Identifier: MIT
 * Fuzz entry of the import of EMAD's text form: a text that is taken must come back by the export,
 * and be taken again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"
#include "show/formats/emad.h"
#include "show/formats/export.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *export_text(const char *path)
{
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct model *model = model_new();
	struct symbol_table symbols = {0};
	struct export_job job = {.path = path, .stacks = {.model = model, .symbols = &symbols}};
	struct err err = {0};
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!model || !out || model_load(model, path, &how, NULL, &err) < 0 || model->strange_events ||
	    trace_read_symbols(path, &symbols, &err) < 0)
		abort(); /* our own trace */
	emad_export(&job, out, &err);
	fclose(out);
	model_free(model);
	symbol_table_release(&symbols);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char folder[] = "/tmp/fuzz-emad-XXXXXX", from[64], to[64];
	struct emad_import how = {.from = from, .to = to, .tick_ns = 1};
	struct emad_summary summary;
	struct err err = {0};

	if (!mkdtemp(folder))
		return 0;
	snprintf(from, sizeof(from), "%s/text", folder);
	snprintf(to, sizeof(to), "%s/trace", folder);
	if (io_write_file(from, data, size, &err) == 0 && emad_import(&how, &summary, &err) == 0) {
		char *once = export_text(to), *twice;

		if (io_write_file(from, once, strlen(once), &err) < 0 ||
		    emad_import(&how, &summary, &err) < 0)
			abort();
		twice = export_text(to);
		if (strcmp(once, twice) != 0)
			abort();
		free(once);
		free(twice);
	}
	unlink(from);
	unlink(to);
	rmdir(folder);
	return 0;
}
