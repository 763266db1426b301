/* SPDX-License-Identifier: MIT
 * What a runtime's library tells becomes records; the landing points of format/runtime.h. Runs in
 * the target, below the library's hooks.
 *
 * The machine's stack is walked as for any other event. The library then makes the language's stack
 * of it, whose nodes are looked up from where it differs from the one before. */
#include "format/runtime.h"
#include "target/recorder/hooks/call.h"
#include "target/recorder/pool/find.h"
#include "target/recorder/session/control.h"
#include "target/recorder/session/session.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/context.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/thread.h"
#include "target/recorder/unwind/cfi.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/unwind/rules.h"
#include "target/recorder/unwind/walk.h"

enum { ROOM = HWR_DEPTH_MAX + 256, PROBES = 64 };

/* The last stack of the language, outermost first, and memory for the next one. */
struct hwr_translated {
	u32 root, epoch; /* what its first frame hangs below, and when it was made */
	u32 depth;
	struct {
		u64 pc, hash;
		u32 node;
	} kept[ROOM];
	struct hw_runtime_frame frames[ROOM];
};

/* Numbers of functions are places in this table. */
struct code {
	u32 state; /* 0 free, 1 being written, 2 whole and told; released */
	u32 hash;
	char name[HW_CODE_NAME];
};
static struct code *codes;

static bool is_attached(void) { return load_relaxed(&hwr_token.on) || hwr_session_join(); }

void hwr_runtime_attach(void)
{
	if (!(hwr_control->flags & HW_RUN_LISP))
		return;
	/* In a forked child what the parent told must be told again, to another monitor's image. */
	if (codes)
		hwr_madvise(codes, HW_CODES * sizeof *codes, MADV_DONTNEED);
	else
		codes = hwr_map_private(HW_CODES * sizeof *codes);
	if (!codes)
		hwr_fault(HW_FAULT_NO_MEMORY);
	hwr_modules_tell_codes();
}

/* ---- stacks ---- */

/* The machine's frames, innermost first; *cut says whether outer ones are missing. */
static u32 machine_frames(struct hwr_thread *t, const struct hw_runtime_object *object,
			  struct hw_runtime_frame *frames, bool *cut)
{
	struct hwr_caller caller = {hwr_strip(object->caller.pc), object->caller.sp,
				    object->caller.fp};
	u32 count;

	hwr_walk_stack(t, &caller, &t->memo[0]);
	count = t->depth ? t->depth : t->fresh_count;
	*cut = !t->depth && count == hwr_control->max_depth;
	for (u32 i = 0; i < count; i++) {
		const struct hwr_frame *f = t->depth ? &t->frames[t->depth - 1 - i] : &t->fresh[i];

		frames[i] = (struct hw_runtime_frame){f->pc, f->sp, UINT64_MAX};
		if (i)
			frames[i - 1].end = f->sp;
	}
	return count;
}

/* The root that the stack hangs below. */
static u32 root_of(bool cut, u64 *hash)
{
	u32 node = hwr_root_node;

	*hash = hwr_root_hash;
	if (!cut)
		return node;
	*hash = hwr_path_hash(*hash, HW_CUT_PC);
	node = hwr_context_child(node, HW_CUT_PC, *hash);
	store_relaxed(&hwr_nodes[node].flags, HW_NODE_CUT);
	return node;
}

static u32 node_of(struct hwr_translated *self, u32 count, bool cut)
{
	u64 hash;
	u32 node = root_of(cut, &hash), depth = 0;

	if (self->root == node && self->epoch == load_relaxed(&hwr_epoch))
		for (; depth < self->depth && depth < count; depth++) {
			if (self->kept[depth].pc != self->frames[count - 1 - depth].pc)
				break;
			node = self->kept[depth].node;
			hash = self->kept[depth].hash;
		}
	else
		self->root = node;
	for (; depth < count; depth++) {
		u64 pc = self->frames[count - 1 - depth].pc;

		hash = hwr_path_hash(hash, pc);
		node = hwr_context_child(node, pc, hash);
		self->kept[depth].pc = pc;
		self->kept[depth].hash = hash;
		self->kept[depth].node = node;
	}
	self->depth = count;
	self->epoch = load_relaxed(&hwr_epoch);
	return node;
}

static u32 context_of_code(u32 code)
{
	u64 pc = hw_code_pc(code);

	return hwr_context_child(hwr_root_node, pc, hwr_path_hash(hwr_root_hash, pc));
}

static u32 context_of_object(struct hwr_thread *t, const void *object_)
{
	const struct hw_runtime_object *object = object_;
	u32 count;
	bool cut;

	if (object->code != HW_NO_CODE)
		return context_of_code(object->code);
	if (!t->translated)
		t->translated = hwr_map_private(sizeof *t->translated);
	if (!t->translated) {
		hwr_fault(HW_FAULT_NO_MEMORY);
		return 0;
	}
	count = machine_frames(t, object, t->translated->frames, &cut);
	count = object->translate(t->translated->frames, count, ROOM);
	return node_of(t->translated, count, cut);
}

static u32 context_of_collector(struct hwr_thread *t, const void *code)
{
	(void)t;
	return *(const u32 *)code == HW_NO_CODE ? 0 : context_of_code(*(const u32 *)code);
}

/* ---- functions ---- */

static u32 hash_of(const char *name, size_t bytes)
{
	u32 hash = 2166136261u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (u8)name[i]) * 16777619u;
	return hash;
}

/* Where a cut does not split a UTF-8 sequence. */
static size_t bytes_of(const char *name)
{
	size_t bytes = hwr_length(name);

	if (bytes < HW_CODE_NAME)
		return bytes;
	for (bytes = HW_CODE_NAME - 1; bytes > 0 && ((u8)name[bytes] & 0xc0) == 0x80;)
		bytes--;
	return bytes;
}

static bool code_is(const struct code *code, u32 hash, const char *name, size_t bytes)
{
	/* Acquire: pairs with the release below, the name is whole. */
	return load_acquire(&code->state) == 2 && code->hash == hash &&
	       hwr_same(code->name, name, bytes) && !code->name[bytes];
}

/* Two threads that bring the same new name may both get a number: a reader merges by name. */
HWR_EXPORT u32 heapwise_runtime_code(const char *name)
{
	size_t bytes = bytes_of(name);
	u32 hash = hash_of(name, bytes);

	if (!is_attached() || !codes)
		return HW_NO_CODE;
	for (u32 i = 0; i < PROBES; i++) {
		u32 number = (hash + i) % HW_CODES, nothing = 0;
		struct code *code = &codes[number];

		if (code_is(code, hash, name, bytes))
			return number;
		if (load_relaxed(&code->state) || !cas_acq_rel(&code->state, &nothing, 1))
			continue;
		code->hash = hash;
		hwr_copy(code->name, name, bytes);
		code->name[bytes] = 0;
		if (!hwr_modules_tell_code(number, code->name)) {
			store_release(&code->state, 0);
			hwr_fault(HW_FAULT_MODULES_FULL);
			return HW_NO_CODE;
		}
		store_release(&code->state, 2);
		return number;
	}
	hwr_fault(HW_FAULT_NAMES_FULL);
	return HW_NO_CODE;
}

HWR_EXPORT int heapwise_runtime_place(u64 pc, struct hw_runtime_place *place)
{
	struct hwr_module_at module;

	if (!hwr_module_at(pc - 1, &module))
		return 0;
	*place = (struct hw_runtime_place){hwr_cfi_start(pc - 1, &module), module.start, module.end,
					   module.name};
	return 1;
}

HWR_EXPORT void heapwise_runtime_functions(u64 pc, void (*found)(const char *name, u64 start))
{
	struct hwr_module_at module;

	if (hwr_module_at(pc, &module))
		hwr_find_each(module.name, module.base, found);
}

HWR_EXPORT u32 heapwise_runtime_epoch(void) { return load_relaxed(&hwr_epoch); }

/* ---- landing points ---- */

static struct hwr_call call_from(struct hwr_caller caller)
{
	return (struct hwr_call){.caller = caller};
}

HWR_EXPORT int heapwise_runtime_wanted(void)
{
	return is_attached() && hwr_control->flags & HW_RUN_LISP;
}

HWR_EXPORT void heapwise_runtime_object(const struct hw_runtime_object *object)
{
	struct hwr_call call = call_from(HWR_CALLER());

	hwr_call_begin(&call);
	if (hwr_call_object(&call, HW_POOL, object->address | HW_POOL_ADDRESS, object->size,
			    context_of_object, object) &&
	    object->type)
		hwr_call_type(&call, object->address, object->type, 1);
}

HWR_EXPORT void heapwise_runtime_type(u64 address, u32 type)
{
	struct hwr_call call = call_from(HWR_CALLER());

	hwr_call_begin(&call);
	hwr_call_type(&call, address, type, 1);
}

HWR_EXPORT void heapwise_runtime_collected(u64 address, u32 code)
{
	struct hwr_call call = call_from(HWR_CALLER());

	hwr_call_begin(&call);
	hwr_call_object(&call, HW_POOL_FREE, address | HW_POOL_ADDRESS, 0, context_of_collector,
			&code);
}

HWR_EXPORT u32 heapwise_runtime_name(const char *name)
{
	return is_attached() ? hwr_name(name) : 0;
}

HWR_EXPORT void heapwise_runtime_says(const char *text)
{
	if (is_attached())
		hwr_modules_tell_runtime(text);
}
