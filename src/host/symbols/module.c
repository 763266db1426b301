/* SPDX-License-Identifier: MIT
 * Finds and opens the files of a module.
 * Runs on the host, maybe long after the recording and on another machine: a file counts only if it
 * is the one that was recorded. Never waits on a path (a trace may name a pipe or a device). */
#include "host/symbols/module.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "host/base/err.h"
#include "host/base/io.h"
#include "host/base/strbuf.h"
#include "host/symbols/debug_find.h"

enum { BUILD_ID_BYTES_MAX = 64, VDSO_BYTES_MAX = 1 << 20 };

/* With no file to open, libdwfl asks the folders of build-id links, then debuginfod. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	struct module_lookup *lookup = *userdata;

	if (lookup && lookup->elf) {
		*elf = lookup->elf;
		lookup->elf = NULL; /* libdwfl's now */
		return -1;
	}
	return dwfl_build_id_find_elf(module, userdata, name, base, file_name, elf);
}

/* To libdwfl a relative folder is one below that of the module; a user means one below the current
 * folder. */
static void add_folders(struct strbuf *path, const char *folders)
{
	char *here = getcwd(NULL, 0);

	for (const char *folder = folders; *folder; folder += *folder == ':') {
		u64 length = strcspn(folder, ":");

		if (length && *folder != '/' && here)
			strbuf_addf(path, "%s/", here);
		strbuf_add_bytes(path, folder, length);
		strbuf_add_char(path, ':');
		folder += length;
	}
	free(here);
}

bool module_places_init(struct module_places *self, const char *extra)
{
	struct strbuf path = {0};

	/* An empty entry is the module's own folder, a relative one is below it. */
	strbuf_add(&path, ":.debug:");
	if (extra)
		add_folders(&path, extra);
	strbuf_add(&path, "/usr/lib/debug");
	self->path = strbuf_take(&path);
	self->callbacks = (Dwfl_Callbacks){
		.find_elf = find_elf,
		.find_debuginfo = debug_find,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &self->path,
	};
	return self->path != NULL;
}

void module_places_release(struct module_places *self)
{
	free(self->path);
	*self = (struct module_places){0};
}

bool elf_is_module(Elf *elf, const struct symbolizer_module *description)
{
	const void *build_id;
	GElf_Ehdr header;
	ssize_t bytes;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return false;
	if (header.e_type != ET_DYN && header.e_type != ET_EXEC)
		return false;
	if (description->arch && header.e_machine != description->arch)
		return false;
	if (!description->build_id_bytes)
		return true;
	bytes = dwelf_elf_gnu_build_id(elf, &build_id);
	return bytes == (ssize_t)description->build_id_bytes &&
	       !memcmp(build_id, description->build_id, description->build_id_bytes);
}

/* Opens path if it is the module that was recorded; -1 otherwise. */
static int open_if_same(const char *path, const struct symbolizer_module *description)
{
	struct stat status;
	int fd = io_open_regular(path, &status);
	bool same;
	Elf *elf;

	if (fd < 0)
		return -1;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	same = elf_is_module(elf, description);
	elf_end(elf);
	if (same)
		return fd;
	close(fd);
	return -1;
}

/* FOLDER/.build-id/xx/yyyy and the same with .debug, below each absolute folder of the path. */
static int open_by_build_id(const struct symbolizer_module *description, const char *path,
			    struct strbuf *found)
{
	static const char *const suffixes[] = {".debug", ""};

	for (const char *folder = path; *folder; folder += *folder == ':') {
		u64 bytes = strcspn(folder, ":");

		for (u32 s = 0; s < 2 && *folder == '/'; s++) {
			int fd;

			strbuf_clear(found);
			strbuf_add_bytes(found, folder, bytes);
			debug_add_build_id(found, description->build_id,
					   description->build_id_bytes);
			strbuf_add(found, suffixes[s]);
			fd = found->failed ? -1 : open_if_same(strbuf_text(found), description);
			if (fd >= 0)
				return fd;
		}
		folder += bytes;
	}
	return -1;
}

/* Files are reported at base 0, so that addresses are those of the program headers. */
static Dwfl_Module *report_file(Dwfl *dwfl, const char *path, int fd)
{
	Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, fd, 0, true);

	if (!module)
		close(fd);
	return module;
}

static Dwfl_Module *report_path(struct module *self, const struct symbolizer_module *description,
				const struct module_places *places)
{
	struct strbuf found = {0};
	Dwfl_Module *handle = NULL;
	int fd = open_if_same(description->path, description);

	if (fd >= 0)
		return report_file(self->dwfl, description->path, fd);
	if (description->build_id_bytes < 2 || description->build_id_bytes > BUILD_ID_BYTES_MAX)
		return NULL;
	fd = open_by_build_id(description, places->path, &found);
	if (fd >= 0)
		handle = report_file(self->dwfl, strbuf_text(&found), fd);
	strbuf_release(&found);
	return handle;
}

/* ---- the vdso ---- */

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

/* This process's own vdso if it is the recorded one by build-id, NULL otherwise: under the same
 * kernel it is the recorded program's, too. *memory is to be freed after the Elf was ended. */
static Elf *vdso_open(const struct symbolizer_module *description, void **memory)
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

/* ---- opening ---- */

/* A module without a path of its own: the kernel's, or one that only a server has. */
static Dwfl_Module *report_unseen(struct module *self, const struct symbolizer_module *description)
{
	Elf *elf = vdso_open(description, &self->vdso);
	Dwfl_Module *handle;

	if (!elf && (!description->build_id_bytes || !debug_servers_named()))
		return NULL;
	handle = dwfl_report_module(self->dwfl, description->path, 0, INT64_MAX);
	if (!handle) {
		elf_end(elf);
		return NULL;
	}
	self->lookup->elf = elf;
	if (!elf)
		dwfl_module_report_build_id(handle, description->build_id,
					    description->build_id_bytes, 0);
	return handle;
}

int module_read_debuginfo(struct module *self)
{
	GElf_Addr elf_bias = 0;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(self->handle, &bias);

	if (!dwarf || self->has_debuginfo || !dwfl_module_getelf(self->handle, &elf_bias))
		return 0;
	self->has_debuginfo = true;
	return debuginfo_init(&self->debuginfo, dwarf, bias - elf_bias);
}

/* Opens the right file; ERR_INPUT if there is none. To be closed in any case. */
static int open_files(struct module *self, const struct symbolizer_module *description,
		      const struct module_places *places)
{
	void **userdata;
	GElf_Addr bias;

	*self = (struct module){.dwfl = dwfl_begin(&places->callbacks),
				.lookup = calloc(1, sizeof(*self->lookup))};
	if (!self->dwfl || !self->lookup)
		return ERR_MEMORY;
	self->lookup->path = places->path;
	dwfl_report_begin(self->dwfl);
	self->handle = report_path(self, description, places);
	if (!self->handle)
		self->handle = report_unseen(self, description);
	if (self->handle) {
		dwfl_module_info(self->handle, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = self->lookup;
	}
	dwfl_report_end(self->dwfl, NULL, NULL);
	return self->handle && dwfl_module_getelf(self->handle, &bias) ? 0 : ERR_INPUT;
}

int module_open(struct module *self, const struct symbolizer_module *description,
		const struct module_places *places)
{
	int result = open_files(self, description, places);

	/* Debug info first: symbols may come from the same separate file. */
	if (!result)
		result = module_read_debuginfo(self);
	if (!result)
		result = elfsyms_read(&self->symbols, self->handle);
	if (result)
		module_close(self);
	return result;
}

int module_open_dwarf(struct module *self, const struct symbolizer_module *description,
		      const struct module_places *places, Dwarf **dwarf)
{
	Dwarf_Addr bias;
	int result = open_files(self, description, places);

	if (result)
		module_close(self);
	else
		*dwarf = dwfl_module_getdwarf(self->handle, &bias);
	return result;
}

void module_close(struct module *self)
{
	elfsyms_release(&self->symbols);
	elfsyms_release(&self->data);
	rtti_release(&self->rtti);
	type_symbols_release(&self->types);
	debuginfo_release(&self->debuginfo);
	if (self->dwfl)
		dwfl_end(self->dwfl);
	if (self->lookup)
		elf_end(self->lookup->elf);
	free(self->lookup);
	free(self->vdso);
	*self = (struct module){0};
}
