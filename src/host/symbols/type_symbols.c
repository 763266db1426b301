/* SPDX-License-Identifier: MIT
 * Reads the symbols of types out of a module's symbol tables.
 * Runs on the host. */
#include "host/symbols/type_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/err.h"
#include "host/base/order.h"
#include "host/base/search.h"
#include "host/base/vec.h"
#include "host/symbols/demangle.h"

/* heapwise::detail::type_tag<T>::here, see include/heapwise/types.hpp. */
static const char tag_linker_name[] = "_ZN8heapwise6detail8type_tagI";
static const char tag_before[] = "heapwise::detail::type_tag<", tag_after[] = ">::here";
static const char vtable_linker_name[] = "_ZTV", construction_linker_name[] = "_ZTC";
static const char *const class_before[] = {"vtable for ", "typeinfo for ", "typeinfo name for "};
static const char construction_before[] = "construction vtable for ",
		  construction_between[] = "-in-";

/* The first two words of a vtable are no address point. */
enum { VTABLE_HEAD = 16 };

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_vtable(const char *name)
{
	return begins(name, vtable_linker_name) || begins(name, construction_linker_name);
}

static int add_symbol(struct type_symbols *self, Dwfl_Module *module, int index,
		      GElf_Addr module_bias)
{
	GElf_Sym symbol;
	GElf_Addr address;
	GElf_Word section;
	const char *name =
		dwfl_module_getsym_info(module, index, &symbol, &address, &section, NULL, NULL);
	struct type_symbol new;

	if (!name || section == SHN_UNDEF || section == SHN_ABS || !symbol.st_size ||
	    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT ||
	    (!begins(name, tag_linker_name) && !is_vtable(name)))
		return 0;
	new = (struct type_symbol){.start = address - module_bias, .name = name};
	new.end = new.start + symbol.st_size;
	if (is_vtable(name))
		new.start += VTABLE_HEAD;
	if (new.start >= new.end)
		return 0;
	return vec_push(self, new) ? 0 : ERR_MEMORY;
}

static int compare(const void *a, const void *b)
{
	const struct type_symbol *x = a, *y = b;

	return rising(x->start, y->start) ?: strcmp(x->name, y->name);
}

int type_symbols_read(struct type_symbols *self, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);
	GElf_Addr bias = 0;

	dwfl_module_getelf(module, &bias);
	for (int i = 1; i < count; i++)
		if (add_symbol(self, module, i, bias))
			return ERR_MEMORY;
	vec_sort(self, compare);
	self->read = true;
	return 0;
}

void type_symbols_release(struct type_symbols *self)
{
	vec_release(self);
	self->read = false;
}

const struct type_symbol *type_symbols_find(const struct type_symbols *self, u64 address)
{
	u64 low = bisect(at, self->count, self->data[at].start <= address);

	return low && address < self->data[low - 1].end ? &self->data[low - 1] : NULL;
}

/* What stands between the two texts that enclose it; NULL if they do not. */
static char *between(const char *text, const char *before, const char *after)
{
	u64 bytes = strlen(text), left = strlen(before), right = strlen(after);

	if (bytes <= left + right || !begins(text, before) ||
	    strcmp(text + bytes - right, after) != 0)
		return NULL;
	bytes -= left + right;
	while (bytes && text[left + bytes - 1] == ' ') /* "vector<int> >" */
		bytes--;
	return bytes ? strndup(text + left, bytes) : NULL;
}

/* The vtable that A has while it is a part of an unfinished B: "construction vtable for A-in-B". */
static char *class_under_construction(const char *text)
{
	u64 before = strlen(construction_before);
	const char *end = begins(text, construction_before)
				  ? strstr(text + before, construction_between)
				  : NULL;

	return end && end > text + before ? strndup(text + before, (u64)(end - text) - before)
					  : NULL;
}

char *type_of_symbol(const char *linker_name)
{
	u64 bytes = strcspn(linker_name, "@");
	char *bare = strndup(linker_name, bytes), *readable = bare ? demangle(bare) : NULL;
	char *type = readable ? between(readable, tag_before, tag_after) : NULL;

	for (u32 i = 0; readable && !type && i < sizeof(class_before) / sizeof(*class_before); i++)
		type = between(readable, class_before[i], "");
	if (readable && !type)
		type = class_under_construction(readable);
	free(bare);
	free(readable);
	return type;
}
