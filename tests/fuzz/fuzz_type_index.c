/* SPDX-License-Identifier: MIT
 * Fuzz entry of the types index: the input is one, and is asked for each of its own places. */
#include <stdint.h>
#include <stddef.h>

#include "host/symbols/types/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	struct type_index *index = type_index_parse((const char *)data, size, &err);
	struct type_index_answer answer;

	for (u64 i = 0; index && i < index->sites.count && i < 100; i++) {
		const struct type_site *site = &index->sites.data[i];
		struct symbol_frame frames[2] = {
			{.function = site->callee, .file = ""},
			{.function = site->function,
			 .file = index->files.data[site->file].path,
			 .line = site->line,
			 .column = site->column},
		};
		struct type_index_query query = {.frames = frames, .frame_count = 2};

		type_index_find(index, &frames[1], site->size, &answer);
		type_index_find_stack(index, &query, &answer);
	}
	type_index_free(index);
	return 0;
}
