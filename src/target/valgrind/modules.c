/* SPDX-License-Identifier: GPL-2.0-or-later
 * Announces modules; see modules.h. A module is the mapping of a file from its ELF header on, as
 * Valgrind's list of mappings has it: the header, in the program's memory, has the rest. */
#include "target/valgrind/modules.h"

#include <elf.h>
#include <pub_tool_aspacehl.h>
#include <pub_tool_aspacemgr.h>
#include <pub_tool_xarray.h>
#include <pub_tool_clientstate.h>

#include "format/ticks.h"
#include "target/valgrind/state.h"
#include "target/valgrind/tree.h"

enum { KNOWN_MAX = 4096, BUILD_ID_MAX = 64, PATH_BYTES_MAX = 4096, HEADERS_MAX = 64 };

struct module {
	u64 base, start, end;
	const HChar *path;
	const u8 *build_id; /* in the program's memory */
	u32 build_id_bytes;
};

struct known_module {
	u64 start, end;
	u64 identity;
	Bool gone; /* it was unmapped, and nothing was met in its place since */
};

u32 hwv_root_node;
u32 hwv_modules_doubtful; /* modules that are gone */

static struct known_module known[KNOWN_MAX];
static u32 known_count;
static u32 generation;
static u64 replacement_start, replacement_end; /* where malloc and memcpy are replaced */

void hwv_modules_reset(void)
{
	hwv_root_node = 0;
	hwv_modules_doubtful = 0;
	known_count = 0;
	generation = 0;
}

/* ---- what is mapped at an address ---- */

static Bool is_readable(Addr at, SizeT bytes)
{
	return VG_(am_is_valid_for_client)(at, bytes, VKI_PROT_READ);
}

static Bool is_header(const NSegment *segment, const NSegment *other)
{
	return other && other->kind == SkFileC && other->ino == segment->ino &&
	       other->dev == segment->dev && other->offset == 0;
}

/* Where the beginning of the segment's file is mapped: nearest below it, for segments may lie
 * apart, and a file may be mapped more than once. The segment itself if there is none. */
static Addr file_start(const NSegment *segment)
{
	Addr found = segment->start, *starts;
	Int count;

	if (segment->offset == 0)
		return found;
	starts = VG_(get_segment_starts)(SkFileC, &count);
	for (Int i = 0; i < count; i++)
		if (starts[i] < segment->start &&
		    is_header(segment, VG_(am_find_nsegment)(starts[i])))
			found = starts[i]; /* they ascend */
	VG_(free)(starts);
	return found;
}

static void find_build_id(struct module *module, const u8 *note, u64 bytes)
{
	const u8 *end = note + bytes;

	while (end - note >= (i64)sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *header = (const Elf64_Nhdr *)note;
		const u8 *name = note + sizeof(*header);
		const u8 *data = name + ((header->n_namesz + 3) & ~3u);

		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
		    header->n_descsz <= BUILD_ID_MAX && data + header->n_descsz <= end &&
		    VG_(memcmp)(name, "GNU", 4) == 0) {
			module->build_id = data;
			module->build_id_bytes = header->n_descsz;
			return;
		}
		note = data + ((header->n_descsz + 3) & ~3u);
	}
}

static void read_headers(struct module *module, const Elf64_Ehdr *header, const Elf64_Phdr *segment)
{
	u64 low = UINT64_MAX, high = 0;

	for (u32 i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type != PT_LOAD)
			continue;
		if (segment[i].p_vaddr < low)
			low = segment[i].p_vaddr;
		if (segment[i].p_vaddr + segment[i].p_memsz > high)
			high = segment[i].p_vaddr + segment[i].p_memsz;
	}
	if (low >= high)
		return;
	module->base = module->start - VG_PGROUNDDN(low);
	module->end = VG_PGROUNDUP(module->base + high);
	for (u32 i = 0; i < header->e_phnum && !module->build_id; i++) {
		u64 at = module->base + segment[i].p_vaddr;

		if (segment[i].p_type == PT_NOTE && is_readable(at, segment[i].p_memsz))
			find_build_id(module, (const u8 *)at, segment[i].p_memsz);
	}
}

/* False if the code is not of a file. */
static Bool find_module(Addr code, struct module *module)
{
	const NSegment *found = VG_(am_find_nsegment)(code);
	const Elf64_Ehdr *header;
	NSegment segment;

	if (!found || found->kind != SkFileC)
		return False;
	segment = *found; /* Valgrind moves its own when it allocates */
	*module = (struct module){
		.base = segment.start - (u64)segment.offset,
		.start = file_start(&segment),
		.end = segment.end + 1,
		.path = VG_(am_get_filename)(&segment),
	};
	header = (const Elf64_Ehdr *)module->start;
	if (is_readable(module->start, sizeof(*header)) &&
	    VG_(memcmp)(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_phnum <= HEADERS_MAX &&
	    is_readable(module->start + header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr)))
		read_headers(module, header, (const Elf64_Phdr *)(module->start + header->e_phoff));
	return module->path != NULL;
}

Bool hwv_is_code(Addr code)
{
	const NSegment *segment = VG_(am_find_nsegment)(code);

	return segment && segment->hasX;
}

Bool hwv_is_replacement(Addr code)
{
	struct module module;

	if (unlikely(!replacement_end)) {
		replacement_end = 1; /* none, unless it is found */
		if (find_module((Addr)code, &module) &&
		    VG_(strstr)(module.path, "vgpreload_heapwise")) {
			replacement_start = module.start;
			replacement_end = module.end;
		}
	}
	return code >= replacement_start && code < replacement_end;
}

/* ---- the log ---- */

/* Where a note of this size can go, NULL if the monitor has not read far enough. */
static struct hw_module_note *log_room(u32 bytes, u64 *head)
{
	u64 size = hwv_control->modules_bytes, at = *head & (size - 1);
	u64 tail = load_acquire(&hwv_control->modules_tail);

	if (at + bytes > size) { /* a note is never split: skip the rest */
		if (*head + (size - at) + bytes - tail > size)
			return NULL;
		*(u32 *)(hwv_module_log + at) = 0;
		*head += size - at;
		at = 0;
	}
	if (*head + bytes - tail > size)
		return NULL;
	return (struct hw_module_note *)(hwv_module_log + at);
}

static Bool announce(const struct module *module)
{
	u32 path_bytes = (u32)VG_(strlen)(module->path), bytes;
	u64 head = hwv_control->modules_head;
	struct hw_module_note *note;

	if (path_bytes > PATH_BYTES_MAX)
		path_bytes = PATH_BYTES_MAX;
	bytes = (u32)(sizeof(*note) + module->build_id_bytes + path_bytes + 7) & ~7u;
	note = log_room(bytes, &head);
	if (!note) {
		hwv_fault(HW_FAULT_MODULES_FULL);
		return False;
	}
	*note = (struct hw_module_note){
		.size = bytes,
		.what = HW_MODULE_LOADED,
		.build_id_bytes = (u16)module->build_id_bytes,
		.ticks = hw_ticks(),
		.base = module->base,
		.start = module->start,
		.end = module->end,
		.generation = generation,
		.path_bytes = path_bytes,
	};
	VG_(memcpy)(note + 1, module->build_id, module->build_id_bytes);
	VG_(memcpy)((u8 *)(note + 1) + module->build_id_bytes, module->path, path_bytes);
	store_release(&hwv_control->modules_head,
		      head + bytes); /* pairs with the monitor's acquire */
	return True;
}

static void tell_text(u16 what, const HChar *text, u32 bytes)
{
	u64 head = hwv_control->modules_head;
	u32 size = (u32)(sizeof(struct hw_module_note) + bytes + 7) & ~7u;
	struct hw_module_note *note = log_room(size, &head);

	if (!note || !bytes)
		return;
	*note = (struct hw_module_note){.size = size,
					.what = what,
					.ticks = hw_ticks(),
					.path_bytes = bytes};
	VG_(memcpy)(note + 1, text, bytes);
	store_release(&hwv_control->modules_head, head + size);
}

/* Appends an argument with its terminator; false if it does not fit. */
static Bool append(HChar *text, u32 *bytes, const HChar *argument)
{
	u32 more = (u32)VG_(strlen)(argument) + 1;

	if (more > HW_IMAGE_TEXT_MAX - *bytes)
		return False;
	VG_(memcpy)(text + *bytes, argument, more);
	*bytes += more;
	return True;
}

/* /proc/self speaks of Valgrind; Valgrind knows what it runs. */
void hwv_modules_tell_image(void)
{
	static HChar text[HW_IMAGE_TEXT_MAX];
	const HChar *path;
	u32 bytes = 0;

	if (VG_(resolve_filename)(VG_(cl_exec_fd), &path))
		tell_text(HW_IMAGE_PROGRAM, path, (u32)VG_(strlen)(path));
	append(text, &bytes, VG_(args_the_exename));
	for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_client)); i++)
		if (!append(text, &bytes, *(HChar **)VG_(indexXA)(VG_(args_for_client), i)))
			break;
	tell_text(HW_IMAGE_COMMAND, text, bytes);
}

/* ---- identity ---- */

static u64 hash_bytes(u64 hash, const void *bytes, SizeT count)
{
	for (const u8 *p = bytes; count--; p++)
		hash = (hash ^ *p) * 0x100000001b3ull;
	return hash;
}

static u64 identify(const struct module *module)
{
	u64 hash = hash_bytes(0xcbf29ce484222325ull, module->build_id, module->build_id_bytes);

	hash = hash_bytes(hash, module->path, VG_(strlen)(module->path));
	return hash_bytes(hash, &module->end, sizeof(module->end));
}

static struct known_module *find_known(Addr code)
{
	for (u32 i = 0; i < known_count; i++)
		if (code >= known[i].start && code < known[i].end)
			return &known[i];
	return NULL;
}

/* Contexts from here on hang below a root of their own: their PCs mean other code than before. */
static void next_generation(void)
{
	if (generation + 1 >= HW_GENERATION_LIMIT) {
		hwv_fault(HW_FAULT_MODULES_FULL);
		return;
	}
	generation++;
	hwv_root_node = hwv_tree_make(0, generation);
}

/* Forgets what lies in the range of a new module; True if there was anything. */
static Bool forget_overlapped(const struct module *module)
{
	Bool any = False;

	for (u32 i = 0; i < known_count;) {
		struct known_module *k = &known[i];

		if (k->end <= module->start || module->end <= k->start) {
			i++;
			continue;
		}
		hwv_modules_doubtful -= k->gone ? 1 : 0;
		*k = known[--known_count];
		any = True;
	}
	return any;
}

void hwv_modules_saw(Addr code)
{
	struct known_module *k = find_known(code);
	struct module module;
	u64 identity;

	if ((k && !k->gone) || !find_module(code, &module))
		return;
	identity = identify(&module);
	if (k && k->start == module.start && k->identity == identity) {
		k->gone = False;
		hwv_modules_doubtful--;
		return;
	}
	if (forget_overlapped(&module))
		next_generation();
	if (known_count == KNOWN_MAX) {
		hwv_fault(HW_FAULT_MODULES_FULL);
		return;
	}
	if (announce(&module))
		known[known_count++] =
			(struct known_module){module.start, module.end, identity, False};
}

Bool hwv_modules_doubts(Addr code)
{
	const struct known_module *k = find_known(code);

	return k && k->gone;
}

void hwv_modules_unmapped(Addr start, SizeT bytes)
{
	for (u32 i = 0; i < known_count; i++) {
		if (known[i].gone || start + bytes <= known[i].start || known[i].end <= start)
			continue;
		known[i].gone = True;
		hwv_modules_doubtful++;
	}
}
