/* SPDX-License-Identifier: MIT
 * Where the recorder is; see objects.h. Runs in the target, first of all, possibly before libc is
 * initialised.
 *
 * In libheapwise.a all of our code and variables are in sections of their own, of which the linker
 * tells the ends: the module around them is the program's. */
#include "target/recorder/state/objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

#include "format/atomics.h"
#include "format/session.h"
#include "format/shadow.h"
#include "target/recorder/state/loader.h"
#include "target/recorder/state/memory.h"

u64 hwr_own_start, hwr_own_bytes;

bool hwr_is_library(const char *path, const char *name)
{
	const char *file = path;

	for (; *path; path++)
		if (*path == '/')
			file = path + 1;
	return hwr_length(file) >= hwr_length(name) && hwr_same(file, name, hwr_length(name));
}

const u8 *hwr_note_find(const u8 *note, u64 bytes, u32 type, const char *name, u32 *content_bytes)
{
	const u8 *end = note + bytes;
	size_t name_bytes = hwr_length(name) + 1;

	while (end - note >= (i64)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *header = (const ElfW(Nhdr) *)note;
		const u8 *its_name = note + sizeof *header;
		const u8 *content = its_name + ((header->n_namesz + 3) & ~3u);

		*content_bytes = header->n_descsz;
		if (header->n_type == type && header->n_namesz == name_bytes &&
		    hwr_same(its_name, name, name_bytes) && content + header->n_descsz <= end)
			return content;
		note = content + ((header->n_descsz + 3) & ~3u);
	}
	return NULL;
}

/* Of a module whose range begins as { ~0, 0 }: one segment more. */
static void add_segment(struct hwr_module_at *module, const ElfW(Phdr) * segment)
{
	u64 start = module->base + segment->p_vaddr, end = start + segment->p_memsz;

	if (segment->p_type == PT_GNU_EH_FRAME)
		module->eh_frame_hdr = (const u8 *)start;
	if (segment->p_type != PT_LOAD)
		return;
	module->start = start < module->start ? start : module->start;
	module->end = end > module->end ? end : module->end;
}

#ifndef HWR_LINKED

/* The first object is the program. */
static int look_at_program(struct dl_phdr_info *info, size_t bytes, void *found)
{
	u32 content;

	(void)bytes;
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE &&
		    hwr_note_find((const u8 *)(info->dlpi_addr + segment->p_vaddr),
				  segment->p_memsz, HW_NOTE_LINKED, HW_NOTE_NAME, &content))
			*(bool *)found = true;
	}
	return 1;
}

bool hwr_stands_back(void)
{
	bool found = false;

	dl_iterate_phdr(look_at_program, &found);
	return found;
}

const struct link_map *hwr_first_map(void) { return hwr_loader() ? hwr_loader()->r_map : NULL; }

bool hwr_map_is_ours(const struct link_map *map) { return map->l_ld == _DYNAMIC; }

bool hwr_map_has_us(const struct link_map *map) { return map->l_ld == _DYNAMIC; }

void hwr_own_find(void)
{
	struct hwr_module_at module;

	if (!hwr_module_at((u64)&hwr_own_find, &module))
		return;
	hwr_own_start = module.start;
	hwr_own_bytes = module.end - module.start;
}

void hwr_own_variables(void (*told)(void *start, size_t bytes))
{
	told((void *)hwr_own_start, hwr_own_bytes);
}

static bool static_module_at(u64 pc, struct hwr_module_at *module)
{
	(void)pc;
	(void)module;
	return false;
}

#else

#define LINKER_SAYS __attribute__((weak, visibility("hidden")))

extern const ElfW(Ehdr) __ehdr_start LINKER_SAYS;
extern u8 __start_hwr_text[] LINKER_SAYS, __stop_hwr_text[] LINKER_SAYS;
extern u8 __start_hwr_data[] LINKER_SAYS, __stop_hwr_data[] LINKER_SAYS;
extern u8 __start_hwr_bss[] LINKER_SAYS, __stop_hwr_bss[] LINKER_SAYS;
#pragma weak _DYNAMIC

static const struct {
	u32 name_bytes, content_bytes, type;
	char name[12];
	u32 version;
} note __attribute__((section(".note.heapwise"), aligned(4), used)) = {
	sizeof(HW_NOTE_NAME), 4, HW_NOTE_LINKED, HW_NOTE_NAME, HW_SESSION_VERSION,
};

/* What the session's memory may ask for is for the user whom the program obeys alone. */
bool hwr_stands_back(void) { return getauxval(AT_SECURE) != 0; }

/* ---- a program without loader ---- */

static const ElfW(Phdr) * segments(u32 *count)
{
	*count = &__ehdr_start ? __ehdr_start.e_phnum : 0;
	return (const ElfW(Phdr) *)((u64)&__ehdr_start + (*count ? __ehdr_start.e_phoff : 0));
}

bool hwr_is_static(void)
{
	static u32 known; /* 1 no, 2 yes; every thread finds the same */
	u32 count;
	const ElfW(Phdr) *segment = segments(&count);

	if (load_relaxed(&known))
		return load_relaxed(&known) == 2;
	for (u32 i = 0; i < count; i++)
		if (segment[i].p_type == PT_INTERP)
			count = 0;
	store_relaxed(&known, count ? 2 : 1);
	return count != 0;
}

static u64 bias(void)
{
	u32 count;
	const ElfW(Phdr) *segment = segments(&count);

	for (u32 i = 0; i < count; i++)
		if (segment[i].p_type == PT_LOAD && segment[i].p_offset == 0)
			return (u64)&__ehdr_start - segment[i].p_vaddr;
	return 0;
}

/* False if there is a loader, or the address is not the program's. */
static bool static_module_at(u64 pc, struct hwr_module_at *module)
{
	u32 count;
	const ElfW(Phdr) *segment = segments(&count);
	struct hwr_module_at found = {~0ull, 0, NULL, bias(), ""};

	if (!hwr_is_static())
		return false;
	for (u32 i = 0; i < count; i++)
		add_segment(&found, &segment[i]);
	if (pc - found.start >= found.end - found.start)
		return false;
	*module = found;
	return true;
}

/* ---- objects ---- */

const struct link_map *hwr_first_map(void)
{
	static ElfW(Dyn) nothing[1];
	static char no_name[1];
	static struct link_map program;

	if (!hwr_is_static())
		return hwr_loader() ? hwr_loader()->r_map : NULL;
	program = (struct link_map){.l_addr = bias(), .l_name = no_name, .l_ld = nothing};
	return &program;
}

/* A library that was loaded as well, for the processes that this one may start: it stands back. */
bool hwr_map_is_ours(const struct link_map *map)
{
	return hwr_is_library(map->l_name, "libheapwise");
}

bool hwr_map_has_us(const struct link_map *map)
{
	return map->l_ld == _DYNAMIC || hwr_map_is_ours(map);
}

void hwr_own_find(void)
{
	hwr_own_start = (u64)__start_hwr_text;
	hwr_own_bytes = (u64)(__stop_hwr_text - __start_hwr_text);
}

void hwr_own_variables(void (*told)(void *start, size_t bytes))
{
	told(__start_hwr_data, (size_t)(__stop_hwr_data - __start_hwr_data));
	told(__start_hwr_bss, (size_t)(__stop_hwr_bss - __start_hwr_bss));
}

#endif

/* ---- which one an address lies in ---- */

#ifndef DLFO_STRUCT_HAS_EH_DBASE /* musl, and glibc before 2.35: the program's may be newer */
struct dl_find_object {
	u64 dlfo_flags;
	void *dlfo_map_start, *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame;
	u64 reserved[7]; /* the C library may write here */
};
#endif

extern int _dl_find_object(void *pc, struct dl_find_object *result) __attribute__((weak));

struct phdr_search {
	u64 pc;
	struct hwr_module_at *module;
};

/* For C libraries without _dl_find_object. */
static int phdr_visit(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct phdr_search *search = data;
	struct hwr_module_at found = {~0ull, 0, NULL, info->dlpi_addr, info->dlpi_name};
	bool covers = false;

	(void)bytes;
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		add_segment(&found, segment);
		covers |= segment->p_type == PT_LOAD &&
			  search->pc - info->dlpi_addr - segment->p_vaddr < segment->p_memsz;
	}
	if (covers)
		*search->module = found;
	return covers;
}

/* The program, which the kernel has mapped: where its segments lie apart, as on aarch64 and with
 * some linkers, _dl_find_object knows one of them at a time. (So it does of the loader, whose gaps
 * may hold others, the vDSO for one. The loader maps all else in one piece.) */
static struct hwr_module_at program;
static u64 program_entry; /* _start; 0 = unknown */

static u64 entry_of(u64 base, const ElfW(Ehdr) * header)
{
	return hwr_same(header->e_ident, ELFMAG, SELFMAG) ? base + header->e_entry : 0;
}

static int program_visit(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)bytes;
	(void)data;
	program = (struct hwr_module_at){.start = ~0ull, .base = info->dlpi_addr};
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + segment->p_vaddr;

		add_segment(&program, segment);
		if (segment->p_type == PT_LOAD && segment->p_offset == 0 &&
		    segment->p_filesz >= sizeof(ElfW(Ehdr)))
			program_entry = entry_of(info->dlpi_addr, (const ElfW(Ehdr) *)start);
	}
	return 1; /* the first one is the program */
}

void hwr_module_program_init(void) { dl_iterate_phdr(program_visit, NULL); }

bool hwr_is_program_start(u64 pc)
{
	enum { START_BYTES = 96 }; /* it sets some registers and calls __libc_start_main */

	return program_entry && pc - program_entry - 1 < START_BYTES;
}

bool hwr_module_at(u64 pc, struct hwr_module_at *module)
{
	struct phdr_search search = {pc, module};
	struct dl_find_object object;

	if (static_module_at(pc, module))
		return true;
	/* in a static program there is nothing else, and no lock to wait for */
	if (!_dl_find_object)
		return !hwr_is_static() && dl_iterate_phdr(phdr_visit, &search) != 0;
	if (_dl_find_object((void *)pc, &object) != 0)
		return false;
	module->start = (u64)object.dlfo_map_start;
	module->end = (u64)object.dlfo_map_end;
	module->eh_frame_hdr = object.dlfo_eh_frame;
	module->base = object.dlfo_link_map->l_addr;
	if (module->base == program.base && module->start >= program.start &&
	    module->end <= program.end) {
		module->start = program.start;
		module->end = program.end;
	}
	module->name = object.dlfo_link_map->l_name;
	return true;
}
