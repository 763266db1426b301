/* SPDX-License-Identifier: MIT
 * Which run a trace is of, and of which build.
 * Host. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/trace/blocklist.h"
#include "show/fleet/gather.h"

static bool tells_names(u16 type)
{
	return type == HW_BLOCK_SYMBOLS || type == HW_BLOCK_INDEX || type == HW_BLOCK_TRAILER ||
	       type == HW_BLOCK_TYPE_NAMES || type == HW_BLOCK_DEBUG_TYPES || type == HW_BLOCK_SUMS;
}

static int hash_blocks(struct block_loader *loader, const struct block_list *list, u64 *run,
		       struct err *err)
{
	struct hw_block_header header;

	for (u64 i = 0; i < list->entries.count; i++) {
		const struct block_entry *entry = &list->entries.data[i];
		u64 words[3];

		if (tells_names(entry->type) || entry->type == 0)
			continue;
		if (block_load_header(loader, entry->offset, &header) != BLOCK_OK)
			return err_set(err, ERR_INPUT, "a section at %llu cannot be read",
				       (unsigned long long)entry->offset);
		words[0] = *run;
		words[1] = header.type;
		words[2] = header.payload_check;
		*run = checksum(words, sizeof words);
	}
	return 0;
}

int run_id(const char *path, u32 image, u64 *run, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;
	struct block_loader *loader = fd < 0 ? NULL : block_loader_new(fd);
	struct block_list list = {0};
	off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	struct block_range range = {.start = sizeof(struct hw_trace_header), .end = (u64)bytes};

	*run = image + 1;
	if (fd < 0)
		return err_set(err, ERR_INPUT, "cannot open %s: %s", path, strerror(errno));
	status = loader ? block_list_load(&list, loader, range, err) : err_memory_for(err, "rows");
	if (status == 0)
		status = hash_blocks(loader, &list, run, err);
	if (status < 0)
		err_prefix(err, "%s", path);
	block_list_release(&list);
	block_loader_free(loader);
	close(fd);
	return status;
}

const char *run_build(const struct run_source *source, struct strbuf *text)
{
	const struct model *model = source->job->stacks.model;
	const struct modmap *modules = &model->contexts.modules;

	if (source->about->build)
		return source->about->build;
	for (u32 id = 0; id < modules->module_count; id++) {
		const struct modmap_module *module = modmap_module(modules, id);

		if (!module || !module->build_id_bytes ||
		    (*module->path && strcmp(module->path, model->image.program) != 0))
			continue;
		for (u32 i = 0; i < module->build_id_bytes; i++)
			strbuf_addf(text, "%02x", module->build_id[i]);
		break;
	}
	return strbuf_text(text);
}
