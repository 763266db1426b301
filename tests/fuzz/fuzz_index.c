/* SPDX-License-Identifier: MIT
 * Fuzz entry of indexes: the input is what changes in a good one, pieces of {place u32, length u8, bytes}. Checksums
 * are made right afterwards, so that changes reach what is behind them. A place counts from the small parts;
 * with its highest bit set from the start of the file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/use_model.h"
#include "base/io.h"
#include "model/index.h"
#include "model/index_file.h"
#include "synth/synth.h"
#include "trace/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	char folder[64], trace[96], index[128];
	struct strbuf good;
	struct index_header header;
	u8 *bytes;
} it;

static void must(bool held)
{
	if (!held)
		abort();
}

static void clean_up(void)
{
	unlink(it.index);
	unlink(it.trace);
	rmdir(it.folder);
}

static void start(void)
{
	struct synth_options how = {.path = it.trace,
				    .chunks = 300,
				    .points = 40,
				    .threads = 2,
				    .types = 5,
				    .access = true,
				    .kept = 0.1};
	struct model_options options = {.image = TRACE_LAST_IMAGE};
	struct synth_result made;
	struct err err = {0};

	strcpy(it.folder, "/tmp/heapwise-fuzz-XXXXXX");
	must(mkdtemp(it.folder) != NULL);
	snprintf(it.trace, sizeof it.trace, "%s/t.hwt", it.folder);
	snprintf(it.index, sizeof it.index, "%s.index", it.trace);
	must(synth_write(&how, &made, &err) == 0);
	synth_result_release(&made);
	must(index_build(it.trace, &options, NULL, &err) == 0);
	must(io_read_file(it.index, 1 << 28, &it.good, &err) == 0);
	memcpy(&it.header, it.good.text, sizeof it.header);
	it.bytes = malloc(it.good.count);
	must(it.bytes != NULL);
	atexit(clean_up);
}

static void change(const uint8_t *data, size_t size)
{
	while (size > 5) {
		u32 place;
		u64 at, count = data[4] < size - 5 ? data[4] : size - 5;

		memcpy(&place, data, sizeof place);
		at = place >> 31 ? place & 0x7fffffff : it.header.small_offset + place;
		at = at % (it.good.count - count);
		if (at >= sizeof it.header)
			memcpy(it.bytes + at, data + 5, count);
		data += 5 + count;
		size -= 5 + count;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_options options = {.image = TRACE_LAST_IMAGE};
	struct index_header header = it.header;
	struct trace_info info = {0};
	struct err err = {0};
	struct model *model;

	if (!it.bytes) {
		start();
		header = it.header;
	}
	memcpy(it.bytes, it.good.text, it.good.count);
	change(data, size);
	header.small_checksum = checksum(it.bytes + header.small_offset, header.small_bytes);
	index_header_seal(&header);
	memcpy(it.bytes, &header, sizeof header);
	must(io_write_file(it.index, it.bytes, it.good.count, &err) == 0);
	options.info = &info;
	model = model_new();
	must(model != NULL);
	if (model_open(model, it.trace, &options, &err) == 0 && model->store)
		use_model(model, &info);
	model_free(model);
	return 0;
}
