/* SPDX-License-Identifier: MIT
 * Announces modules to the monitor and notices when one took another's place. Runs in the target.
 * Never waits: a thread that finds another one (or itself, below a signal handler) at work goes on,
 * and the module is announced when it is met again. */
#include "target/recorder/unwind/modules.h"

#include <elf.h>
#include <link.h>

#include "format/runtime.h"
#include "format/ticks.h"
#include "target/recorder/state/context.h"
#include "target/recorder/state/loader.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/rules.h"

enum { KNOWN_MAX = 4096, TURN_TRIES = 100000, BUILD_ID_MAX = 64, PATH_BYTES_MAX = 4096 };

struct known_module {
	u64 start, end;
	u64 identity; /* of path, build-id and range */
	u32 epoch;    /* in which it was last seen to be the same */
	bool replaced;
};

u64 hwr_loader_start, hwr_loader_bytes;
u32 hwr_root_node;
u64 hwr_root_hash;

static struct known_module known[KNOWN_MAX];
static u32 known_count;
static u32 at_work; /* 1 while a thread changes any of this */
static u32 generation;
static u64 unloads_seen;

struct build_id {
	const u8 *bytes;
	u32 count;
};

static int read_unloads(struct dl_phdr_info *info, size_t bytes, void *unloads)
{
	(void)bytes;
	*(u64 *)unloads = info->dlpi_subs;
	return 1;
}

static void find_range(u64 address, u64 *start, u64 *bytes)
{
	struct hwr_module_at module;

	if (!hwr_module_at(address, &module))
		return;
	*start = module.start;
	*bytes = module.end - module.start;
}

void hwr_modules_init(void)
{
	static bool counted;

	if (!counted)
		hwr_module_program_init();
	if (hwr_loader() && hwr_loader()->r_ldbase)
		find_range(hwr_loader()->r_ldbase, &hwr_loader_start, &hwr_loader_bytes);
	hwr_own_find();
	if (!counted) /* in a forked child another thread's loader lock may be held for good */
		dl_iterate_phdr(read_unloads, &unloads_seen);
	counted = true;
	at_work = 0;
	known_count = 0;
	generation = 0;
	hwr_root_node = 0;
	hwr_root_hash = 0;
}

static bool take_turn(void)
{
	u32 nobody = 0;

	return cas_acq_rel(&at_work, &nobody, 1);
}

static void end_turn(void) { store_release(&at_work, 0); }

static struct build_id module_build_id(const struct hwr_module_at *module)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)module->start;
	const ElfW(Phdr) * segment;
	struct build_id id = {NULL, 0};

	if (!hwr_readable(module->start) || !hwr_same(header->e_ident, ELFMAG, SELFMAG))
		return id;
	segment = (const ElfW(Phdr) *)(module->start + header->e_phoff);
	for (u32 i = 0; i < header->e_phnum && !id.count; i++) {
		u64 at = module->base + segment[i].p_vaddr;

		if (segment[i].p_type == PT_NOTE && at >= module->start &&
		    at + segment[i].p_memsz <= module->end)
			id.bytes = hwr_note_find((const u8 *)at, segment[i].p_memsz,
						 NT_GNU_BUILD_ID, "GNU", &id.count);
		if (!id.bytes || id.count > BUILD_ID_MAX)
			id = (struct build_id){NULL, 0};
	}
	return id;
}

static u64 hash_bytes(u64 hash, const void *bytes, size_t count)
{
	for (const u8 *p = bytes; count--; p++)
		hash = (hash ^ *p) * 0x100000001b3ull;
	return hash;
}

static u64 identify(const struct hwr_module_at *module, struct build_id id)
{
	u64 hash = hash_bytes(0xcbf29ce484222325ull, id.bytes, id.count);

	hash = hash_bytes(hash, module->name, hwr_length(module->name));
	return hash_bytes(hash, &module->end, sizeof module->end);
}

/* ---- the log ---- */

/* Where a note of this size can go, NULL if the monitor has not read far enough. */
static struct hw_module_note *log_room(u32 bytes, u64 *head)
{
	u64 size = hwr_control->modules_bytes;
	u64 at = *head & (size - 1);

	if (at + bytes > size) { /* a note is never split: skip the rest */
		if (*head + (size - at) + bytes - load_acquire(&hwr_control->modules_tail) > size)
			return NULL;
		*(u32 *)(hwr_module_log + at) = 0;
		*head += size - at;
		at = 0;
	}
	if (*head + bytes - load_acquire(&hwr_control->modules_tail) > size)
		return NULL;
	return (struct hw_module_note *)(hwr_module_log + at);
}

static bool announce(const struct hwr_module_at *module, struct build_id id, u16 what)
{
	u32 path_bytes = (u32)hwr_length(module->name);
	u64 head = hwr_control->modules_head;
	struct hw_module_note *note;
	u32 bytes;

	if (path_bytes > PATH_BYTES_MAX)
		path_bytes = PATH_BYTES_MAX;
	bytes = (u32)(sizeof *note + id.count + path_bytes + 7) & ~7u;
	note = log_room(bytes, &head);
	if (!note) {
		hwr_fault(HW_FAULT_MODULES_FULL);
		return false;
	}
	*note = (struct hw_module_note){
		.size = bytes,
		.what = what,
		.build_id_bytes = (u16)id.count,
		.ticks = hw_ticks(),
		.base = module->base,
		.start = module->start,
		.end = module->end,
		.generation = generation,
		.path_bytes = path_bytes,
	};
	hwr_copy(note + 1, id.bytes, id.count);
	hwr_copy((u8 *)(note + 1) + id.count, module->name, path_bytes);
	/* pairs with the monitor's acquire */
	store_release(&hwr_control->modules_head, head + bytes);
	return true;
}

/* Tells what /proc/self has under this name; longer texts are cut. */
static void tell_image(u16 what, const char *path)
{
	u64 head = hwr_control->modules_head;
	struct hw_module_note *note = log_room(sizeof *note + HW_IMAGE_TEXT_MAX, &head);
	long bytes;

	if (!note)
		return;
	bytes = what == HW_IMAGE_PROGRAM ? hwr_readlink(path, note + 1, HW_IMAGE_TEXT_MAX)
					 : hwr_read_file(path, note + 1, HW_IMAGE_TEXT_MAX);
	if (bytes <= 0)
		return;
	*note = (struct hw_module_note){
		.size = (u32)(sizeof *note + (u64)bytes + 7) & ~7u,
		.what = what,
		.ticks = hw_ticks(),
		.path_bytes = (u32)bytes,
	};
	store_release(&hwr_control->modules_head, head + note->size);
}

/* A note with a text; waits, not for long, for others and for the monitor. */
static bool tell_text(u16 what, u64 base, const char *text)
{
	u32 bytes = (u32)hwr_length(text);
	struct hw_module_note *note = NULL;
	bool mine = false;
	u64 head;

	for (u32 i = 0; i < TURN_TRIES && !note; i++) {
		if (i)
			hwr_yield();
		mine = mine || take_turn();
		head = hwr_control->modules_head;
		note = mine ? log_room((u32)(sizeof *note + bytes + 7) & ~7u, &head) : NULL;
	}
	if (note) {
		*note = (struct hw_module_note){
			.size = (u32)(sizeof *note + bytes + 7) & ~7u,
			.what = what,
			.ticks = hw_ticks(),
			.base = base,
			.path_bytes = bytes,
		};
		hwr_copy(note + 1, text, bytes);
		store_release(&hwr_control->modules_head, head + note->size);
	}
	if (mine)
		end_turn();
	return note != NULL;
}

bool hwr_modules_tell_code(u32 number, const char *name)
{
	return tell_text(HW_CODE_NAMED, number, name);
}

void hwr_modules_tell_runtime(const char *text) { tell_text(HW_RUNTIME_SAYS, 0, text); }

void hwr_modules_tell_codes(void)
{
	static const struct hwr_module_at codes = {
		.start = HW_CODE_START,
		.end = HW_CODE_START + HW_CODES,
		.base = HW_CODE_START,
		.name = HW_CODE_MODULE,
	};

	announce(&codes, (struct build_id){NULL, 0}, HW_MODULE_LOADED);
}

void hwr_modules_tell_image(void)
{
	tell_image(HW_IMAGE_PROGRAM, "/proc/self/exe");
	tell_image(HW_IMAGE_COMMAND, "/proc/self/cmdline");
}

/* ---- identity ---- */

/* Contexts from here on hang below a root of their own: their PCs mean other code than before. */
static void next_generation(void)
{
	u64 hash;

	if (generation + 1 >= HW_GENERATION_LIMIT) {
		hwr_fault(HW_FAULT_MODULES_FULL);
		return;
	}
	generation++;
	hash = hwr_path_hash(0, generation);
	hwr_root_node = hwr_context_insert(0, generation, hash);
	hwr_root_hash = hash;
	add_acq_rel(&hwr_epoch, 1);
	hwr_rules_forget();
}

/* Marks what lies in the range of a new module as replaced; true if there was any. */
static bool replace_overlapped(const struct hwr_module_at *module)
{
	bool any = false;

	for (u32 i = 0; i < known_count; i++) {
		struct known_module *k = &known[i];

		if (k->replaced || k->end <= module->start || module->end <= k->start)
			continue;
		k->replaced = true;
		any = true;
	}
	return any;
}

static struct known_module *find_known(const struct hwr_module_at *module)
{
	for (u32 i = 0; i < load_relaxed(&known_count); i++)
		if (known[i].start == module->start && !known[i].replaced)
			return &known[i];
	return NULL;
}

static struct known_module *free_entry(void)
{
	for (u32 i = 0; i < known_count; i++)
		if (known[i].replaced)
			return &known[i];
	return known_count < KNOWN_MAX ? &known[known_count] : NULL;
}

static bool learn(const struct hwr_module_at *module, struct build_id id, u64 identity, u16 what)
{
	struct known_module *k;

	if (replace_overlapped(module))
		next_generation();
	k = free_entry();
	if (!k) {
		hwr_fault(HW_FAULT_MODULES_FULL);
		return true;
	}
	if (!announce(module, id, what))
		return false;
	*k = (struct known_module){module->start, module->end, identity, load_relaxed(&hwr_epoch),
				   true};
	store_release(&k->replaced, false);
	if (k == &known[known_count])
		store_release(&known_count, known_count + 1);
	return true;
}

static bool saw(const struct hwr_module_at *module, u16 what)
{
	struct known_module *k = find_known(module);
	u32 epoch = load_relaxed(&hwr_epoch);
	bool settled = true;
	struct build_id id;
	u64 identity;

	if (likely(k && k->epoch == epoch))
		return true;
	if (!take_turn())
		return false;
	id = module_build_id(module);
	identity = identify(module, id);
	k = find_known(module);
	if (k && k->identity == identity)
		k->epoch = epoch;
	else
		settled = learn(module, id, identity, what);
	end_turn();
	return settled;
}

bool hwr_modules_saw(const struct hwr_module_at *module) { return saw(module, HW_MODULE_LOADED); }

void hwr_modules_list(const struct hwr_module_at *module) { saw(module, HW_MODULE_LISTED); }

void hwr_modules_check(void)
{
	u64 unloads = 0;

	if (!hwr_loader() || hwr_loader()->r_state == RT_CONSISTENT)
		return; /* pthread_create, TLS: no need for the loader's lock */
	if (hwr_loader()->r_state == RT_ADD)
		hwr_pools_look();
	dl_iterate_phdr(read_unloads, &unloads);
	if (likely(unloads == unloads_seen) || !take_turn())
		return;
	unloads_seen = unloads;
	if (hwr_operators_forget)
		hwr_operators_forget();
	hwr_pools_forget();
	add_acq_rel(&hwr_epoch, 1);
	hwr_rules_forget();
	end_turn();
}
