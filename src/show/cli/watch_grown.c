/* SPDX-License-Identifier: MIT
 * What grew while a program was watched, and who holds it: from the trace, if pointers were
 * recorded twice.
 * Host. */
#include "show/cli/watch_show.h"
#include "show/render/render.h"
#include "study/layout/owners.h"

enum { ROWS = 5, WIDTH = 100 };

void watch_show_grown(struct watch_show *self, const char *path)
{
	const struct study_options how = {.image = STUDY_LAST_IMAGE, .index = INDEX_IGNORE};
	const struct text_style style = {.width = WIDTH};
	struct study *trace = study_new(path, &how);
	struct result *table = NULL;
	struct err err = {0};

	if (trace && study_look(trace, &err) == 0 && trace->info.graphs &&
	    study_load(trace, &err) == 0)
		table = view_growth(trace, ROWS, &err);
	if (table) {
		fputc('\n', self->out);
		render_text(table, &style, self->out);
		fflush(self->out);
	} else if (err.code) {
		fprintf(stderr, "heapwise: note: what grew is not known: %s\n", err.text);
	}
	result_free(table);
	study_free(trace);
}
