/* SPDX-License-Identifier: MIT
 * Folded stacks, what flamegraph.pl, inferno and speedscope read: a line for each stack, functions
 * from the outermost on with semicolons between, a space, a number.
 * Host. Stacks of different addresses that read the same are one line. */
#include <inttypes.h>

#include "host/base/text.h"
#include "show/formats/measured.h"

/* A semicolon ends a function, a newline the stack; what follows the last space is the number. */
static void put_name(const char *name, FILE *out) { text_put(out, name, ";", ':'); }

int folded_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct measured self = {0};
	VEC(u32) path = {0};
	int status = measured_build(&self, job, err);

	for (u32 node = 1; node < self.own.count && status == 0; node++) {
		u64 value = self.own.data[node].of[job->metric];

		if (!value)
			continue;
		vec_clear(&path);
		for (u32 at = node; at && status == 0; at = self.tree.nodes.data[at].parent)
			if (!vec_push(&path, self.tree.nodes.data[at].key))
				status = err_memory_for(err, "the export");
		for (u64 i = path.count; i-- > 0;) {
			put_name(self.places.functions.data[path.data[i]].name, out);
			fputc(i ? ';' : ' ', out);
		}
		fprintf(out, "%" PRIu64 "\n", value);
	}
	measured_release(&self);
	vec_release(&path);
	return status;
}
