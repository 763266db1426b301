/* SPDX-License-Identifier: MIT
 * Types of debug info, file by file, into the trace.
 * Host, after a recording. Of calls only those that a stack has are kept. */
#include "host/symbols/resolve/keep_types.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/path.h"
#include "host/base/search.h"
#include "host/symbols/type_text.h"
#include "host/symbols/types/call.h"
#include "host/symbols/types/sizes.h"
#include "host/trace/debugtypes.h"

struct keeping {
	const struct keep_types_query *query;
	VEC(struct debug_types_file) files;
	struct names names;
	u64 bytes_left;
};

static bool add_row(struct keeping *self, struct debug_types_file *file, struct debug_type row)
{
	row.name = names_keep(&self->names, row.name);
	return *row.name && vec_push(&file->rows, row);
}

/* The first address of the file that is wanted and not below this one. */
static bool is_wanted(const struct collect *collect, u32 file, u64 address)
{
	const struct wanted *wanted = collect->wanted.data;
	u64 low =
		bisect(at, collect->wanted.count,
		       (rising(wanted[at].file, file) ?: rising(wanted[at].address, address)) < 0);

	return low < collect->wanted.count && wanted[low].file == file &&
	       wanted[low].address == address;
}

static int keep_calls(struct keeping *self, u32 file, struct debug_types_file *out, struct err *err)
{
	struct call_types_query query = {.modules = &self->query->collect->files.data[file],
					 .module_count = 1,
					 .debug_path = self->query->debug_path};
	struct call_types calls = {0};
	int status = call_types_read(&calls, &query, err);
	bool good = true;

	for (u64 i = 0; i < calls.rows.count && status == 0 && good; i++)
		if (is_wanted(self->query->collect, file, calls.rows.data[i].address))
			good = add_row(self, out,
				       (struct debug_type){.sort = DEBUG_TYPE_CALL,
							   .address = calls.rows.data[i].address,
							   .size = calls.rows.data[i].size,
							   .name = calls.rows.data[i].type});
	call_types_release(&calls);
	return good ? status : err_memory_for(err, "the types of calls");
}

/* *known: all that the file's debug info says was read. */
static int keep_sizes(struct keeping *self, u32 file, struct debug_types_file *out, bool *known,
		      struct err *err)
{
	const struct collect *collect = self->query->collect;
	struct typesizes_query query = {.modules = &collect->files.data[file],
					.module_count = 1,
					.own_modules = collect->own.data[file],
					.all = true,
					.max_bytes = self->bytes_left,
					.symbolizer = self->query->symbolizer,
					.debug_path = self->query->debug_path};
	struct typesizes sizes = {0};
	int status = typesizes_read(&sizes, &query, err);
	bool good = true;

	*known = status == 0 && sizes.states[0] == SYMBOLIZER_DEBUG && !sizes.stopped;
	self->bytes_left -= sizes.bytes < self->bytes_left ? sizes.bytes : self->bytes_left;
	for (u64 i = 0; i < sizes.count && *known && good; i++)
		good = add_row(self, out,
			       (struct debug_type){.sort = DEBUG_TYPE_SIZED,
						   .size = sizes.data[i].size,
						   .rank = (u8)sizes.data[i].rank,
						   .name = sizes.data[i].name});
	typesizes_release(&sizes);
	return good ? status : err_memory_for(err, "the names of types");
}

static int keep_file(struct keeping *self, u32 file, struct err *err)
{
	const struct symbolizer_module *module = &self->query->collect->files.data[file];
	struct debug_types_file out = {.path = module->path,
				       .build_id = module->build_id,
				       .build_id_bytes = module->build_id_bytes};
	bool known = false;
	int status = keep_sizes(self, file, &out, &known, err);

	if (status == 0 && known)
		status = keep_calls(self, file, &out, err);
	if (status == 0 && known && vec_push(&self->files, out))
		return 0;
	vec_release(&out.rows);
	return status || !known ? status : err_memory_for(err, "types");
}

/* The C and C++ libraries stay where they are, their types are seldom anybody's, and their debug
 * files are compressed, which costs more than all else. */
static bool is_left_out(const char *path)
{
	static const char *const names[] = {"libc.so",  "libc-",      "libm.so",   "libpthread",
					    "ld-linux", "ld-",        "libstdc++", "libgcc_s",
					    "libc++",   "libheapwise"};

	return text_starts_any(path_file(path), names);
}

int symbols_keep_types(const char *path, const struct keep_types_query *query, struct err *err)
{
	enum { DEFAULT_BYTES = 64 << 20 };
	struct keeping self = {.query = query,
			       .bytes_left = query->max_bytes ? query->max_bytes : DEFAULT_BYTES};
	int status = 0;

	/* The program's own types matter most. */
	for (u32 own = 2; own-- > 0;)
		for (u32 i = 0; i < query->collect->files.count && status == 0 && self.bytes_left;
		     i++)
			if (query->collect->own.data[i] == own &&
			    !is_left_out(query->collect->files.data[i].path))
				status = keep_file(&self, i, err);
	if (status == 0 && self.files.count)
		status = trace_write_debug_types(path, self.files.data, self.files.count, err);
	for (u64 i = 0; i < self.files.count; i++)
		vec_release(&self.files.data[i].rows);
	vec_release(&self.files);
	names_release(&self.names);
	return status;
}
