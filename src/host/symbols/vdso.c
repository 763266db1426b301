/* SPDX-License-Identifier: MIT
 * Copies the vdso out of this process: under the same kernel it is the recorded program's, too.
 * Runs on the host. Never takes it without its build-id: the trace may come from elsewhere. */
#include "host/symbols/vdso.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "host/symbols/module.h"

enum { VDSO_BYTES_MAX = 1 << 20 };

static bool is_vdso(const char *path)
{
	return !strchr(path, '/') && (strstr(path, "vdso") || strstr(path, "linux-gate"));
}

/* The section headers come last in the images that kernels map. */
static size_t vdso_bytes(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

Elf *vdso_open(const struct symbolizer_module *description, void **memory)
{
	const Elf64_Ehdr *header;
	Elf *elf = NULL;
	size_t bytes;

	if (!is_vdso(description->path) || !description->build_id_bytes)
		return NULL;
	header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	bytes = header ? vdso_bytes(header) : 0;
	if (!bytes || bytes > VDSO_BYTES_MAX)
		return NULL;
	*memory = malloc(bytes);
	if (!*memory)
		return NULL;
	memcpy(*memory, header, bytes);
	elf = elf_memory(*memory, bytes);
	if (elf_is_module(elf, description))
		return elf;
	elf_end(elf);
	free(*memory);
	*memory = NULL;
	return NULL;
}
