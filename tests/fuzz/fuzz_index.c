/* SPDX-License-Identifier: MIT
 * Fuzz entry of indexes: the input is what changes in a good one, pieces of {place u32, length u8, bytes}. Checksums
 * are made right afterwards, so that changes reach what is behind them. A place counts from the small parts;
 * with its highest bit set from the start of the file. The file lies in memory and is mapped: an index has millions of bytes,
 * of which an input changes a few, which are put back afterwards. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/use_model.h"
#include "host/base/io.h"
#include "study/model/index.h"
#include "study/model/index_file.h"
#include "dev/synth/synth.h"
#include "host/trace/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	char folder[64], trace[96], index[128];
	struct strbuf good;
	struct index_header header;
	u8 *bytes; /* of the file */
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

static void map_file(void)
{
	int fd = open(it.index, O_RDWR | O_CLOEXEC);

	must(fd >= 0);
	it.bytes = mmap(NULL, it.good.count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(it.bytes != MAP_FAILED);
	close(fd);
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

	strcpy(it.folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/heapwise-fuzz-XXXXXX"
							 : "/tmp/heapwise-fuzz-XXXXXX");
	must(mkdtemp(it.folder) != NULL);
	snprintf(it.trace, sizeof it.trace, "%s/t.hwt", it.folder);
	snprintf(it.index, sizeof it.index, "%s.index", it.trace);
	must(synth_write(&how, &made, &err) == 0);
	synth_result_release(&made);
	must(index_build(it.trace, &options, NULL, &err) == 0);
	must(io_read_file(it.index, 1 << 28, &it.good, &err) == 0);
	memcpy(&it.header, it.good.text, sizeof it.header);
	map_file();
	atexit(clean_up);
}

/* Puts the changes into the file, or what was there before. */
static void change(const uint8_t *data, size_t size, bool back)
{
	while (size > 5) {
		u32 place;
		u64 at, count = data[4] < size - 5 ? data[4] : size - 5;

		memcpy(&place, data, sizeof place);
		at = place >> 31 ? place & 0x7fffffff : it.header.small_offset + place;
		at = at % (it.good.count - count);
		if (at >= sizeof it.header)
			memcpy(it.bytes + at, back ? (const u8 *)it.good.text + at : data + 5, count);
		data += 5 + count;
		size -= 5 + count;
	}
}

static void seal(void)
{
	struct index_header header = it.header;

	header.small_checksum = checksum(it.bytes + header.small_offset, header.small_bytes);
	index_header_seal(&header);
	memcpy(it.bytes, &header, sizeof header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_options options = {.image = TRACE_LAST_IMAGE};
	struct trace_info info = {0};
	struct err err = {0};
	struct model *model;

	if (!it.bytes)
		start();
	change(data, size, false);
	seal();
	options.info = &info;
	model = model_new();
	must(model != NULL);
	if (model_open(model, it.trace, &options, &err) == 0 && model->store)
		use_model(model, &info);
	model_free(model);
	change(data, size, true);
	return 0;
}
