/* SPDX-License-Identifier: MIT
 * Modules by their headers in memory; see modules.h. Runs on a scan's thread. */
#include "live/scan/modules.h"

#include <elf.h>
#include <string.h>

enum { HEADERS_MAX = 64 };
static const u64 MODULE_MAX = (u64)1 << 40, TLS_MAX = 1 << 24, ALIGN_MAX = 1 << 16; /* sane ones */

static u64 round_up(u64 value, u64 to) { return to > 1 ? (value + to - 1) / to * to : value; }

/* Number of the headers of what is mapped at `start`; 0 = it is no module. */
static u32 headers_read(struct scan_memory *memory, u64 start, Elf64_Phdr *headers)
{
	Elf64_Ehdr file;

	if (!scan_memory_read(memory, start, &file, sizeof(file)) ||
	    memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64 ||
	    file.e_phnum > HEADERS_MAX ||
	    !scan_memory_read(memory, start + file.e_phoff, headers,
			      file.e_phnum * sizeof(*headers)))
		return 0;
	return file.e_phnum;
}

static void tls_add(struct scan_modules *self, const Elf64_Phdr *header)
{
	if (header->p_memsz < TLS_MAX && header->p_align < ALIGN_MAX)
		self->tls_bytes = round_up(self->tls_bytes + header->p_memsz, header->p_align);
}

static bool module_add(struct scan_modules *self, struct scan_memory *memory,
		       const struct mapping *mapping)
{
	struct scan_module module = {.path = mapping->path, .start = mapping->start};
	Elf64_Phdr headers[HEADERS_MAX];
	u32 count = headers_read(memory, mapping->start, headers);
	bool known = false;

	for (u32 i = 0; i < count; i++) {
		u64 end = headers[i].p_vaddr + headers[i].p_memsz;

		if (headers[i].p_type == PT_TLS)
			tls_add(self, &headers[i]);
		if (headers[i].p_type != PT_LOAD)
			continue;
		if (!known)
			module.base = mapping->start - ((headers[i].p_vaddr - headers[i].p_offset) &
							-(u64)SCAN_PAGE);
		known = true;
		end = round_up(module.base + end, SCAN_PAGE);
		if (end > module.end && end - module.start < MODULE_MAX)
			module.end = end;
	}
	return module.end <= module.start || vec_push(&self->rows, module);
}

bool scan_modules_read(struct scan_modules *self, struct scan_memory *memory)
{
	u64 last = 0;

	for (u64 i = 0; i < memory->mappings.count; i++) {
		const struct mapping *mapping = &memory->mappings.data[i];

		if (mapping->kind != MAPPING_FILE || mapping->file == last)
			continue;
		last = mapping->file;
		if (mapping->readable && !module_add(self, memory, mapping))
			return false;
	}
	return true;
}

void scan_modules_release(struct scan_modules *self) { vec_release(&self->rows); }
