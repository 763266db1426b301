/* SPDX-License-Identifier: MIT
 * Fuzz entry of symbols and debug info: the input is a module's file, which is asked for names, lines, inlined functions, sizes and
 * layouts of types, and what its calls allocate. Modules are opened by name, so the file lies in memory and its name
 * leads there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/symbols/types/call.h"
#include "host/symbols/symbolizer.h"
#include "host/symbols/types/declared.h"
#include "host/symbols/types/layout.h"
#include "host/symbols/types/sizes.h"

enum { ADDRESSES = 128, STEP = 8, FIRST = 0x200, LAYOUTS_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];
static int fd = -1;

static void must(bool held)
{
	if (!held)
		abort();
}

static void put(const uint8_t *data, size_t size)
{
	if (fd < 0) {
		unsetenv("DEBUGINFOD_URLS"); /* no question leaves this process */
		fd = memfd_create("module", MFD_CLOEXEC);
		must(fd >= 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
}

/* Reads all of it. */
static void use(const char *text)
{
	if (strlen(text) == 4000000000u)
		puts(text);
}

static void ask_places(const struct symbolizer_module *module)
{
	struct symbolizer_answer answers[ADDRESSES] = {{0}};
	struct err err = {0};
	struct symbolizer *symbolizer = symbolizer_new(NULL, &err);
	u64 addresses[ADDRESSES];
	const char *type;
	u32 id;

	must(symbolizer && symbolizer_add(symbolizer, module, &id, &err) == 0);
	for (u32 i = 0; i < ADDRESSES; i++)
		addresses[i] = FIRST + i * STEP;
	if (symbolizer_resolve(symbolizer, &(struct symbolizer_query){id, addresses, ADDRESSES, answers}, &err) == 0)
		for (u32 i = 0; i < ADDRESSES; i++)
			for (u32 k = 0; k < answers[i].frame_count; k++) {
				use(answers[i].frames[k].function);
				use(answers[i].frames[k].file);
			}
	for (u64 address = 0; address < 0x5000; address += 0x88)
		if (symbolizer_type(symbolizer, id, address, &type, &err) == 0)
			use(type);
	symbolizer_free(symbolizer);
}

static void ask_types(const struct symbolizer_module *module)
{
	struct typesizes types = {0};
	struct call_types calls = {0};
	struct err err = {0};
	struct typesizes_query query = {
		.modules = module, .module_count = 1, .own_modules = 1, .all = true};

	if (typesizes_read(&types, &query, &err) == 0)
		for (u64 i = 0; i < types.count && i < LAYOUTS_MAX; i++) {
			struct type_layout layout = {0};

			use(types.data[i].name);
			type_layout_read(&layout,
					 &(struct type_layout_query){.name = types.data[i].name,
								     .modules = module,
								     .module_count = 1},
					 &err);
			for (u64 k = 0; k < layout.members.count; k++)
				use(layout.members.data[k].type);
			type_layout_release(&layout);
		}
	typesizes_release(&types);
	call_types_read(&calls, &(struct call_types_query){.modules = module, .module_count = 1}, &err);
	for (u64 i = 0; i < calls.rows.count; i++)
		use(calls.rows.data[i].type);
	call_types_release(&calls);
}

/* Variables at all places, and types by name with their members. */
static void ask_declared(const struct symbolizer_module *module)
{
	struct typesizes_query query = {
		.modules = module, .module_count = 1, .own_modules = 1, .all = true};
	struct typesizes types = {0};
	struct err err = {0};
	struct declared *declared = declared_new(&(struct declared_query){0}, &err);
	struct declared_variable variable;

	for (u64 address = 0; declared && address < 0x5000; address += 8)
		if (declared_variable(declared, module, address, &variable))
			use(variable.file);
	if (declared && typesizes_read(&types, &query, &err) == 0)
		for (u64 i = 0; i < types.count && i < LAYOUTS_MAX; i++) {
			const struct declared_type *type =
				declared_type(declared, declared_named(declared, types.data[i].name));

			for (u32 k = 0; type && k < type->member_count; k++)
				use(type->members[k].name);
		}
	typesizes_release(&types);
	declared_free(declared);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbolizer_module module = {.path = path};

	put(data, size);
	ask_places(&module);
	ask_types(&module);
	ask_declared(&module);
	return 0;
}
