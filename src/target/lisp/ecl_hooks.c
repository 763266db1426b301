/* SPDX-License-Identifier: MIT
 * The functions of libecl and libgc that allocate, and those that say what Lisp is doing; see
 * ecl_library.h. Runs in the target, in place of the functions of the same name, which are called
 * for every request.
 *
 * All memory of Lisp comes from the collector. A function of libecl that makes an object asks for
 * one block or more: what it got, up to its end, is that object, once. A block that nobody asked
 * for in this way is data. */
#define _GNU_SOURCE
#include "ecl_library.h"

#include <dlfcn.h>
#include <string.h>

#include "heapwise/heapwise.h"

#define EXPORT __attribute__((visibility("default")))

/* Calls of functions that make one object are near to each other on the stack; code that Lisp runs
 * in between (a handler of an interrupt) is further away. */
enum { NEAR = 2048, STRUCTURE_CODE = 1 << 16 };

enum { BLOCKS = 4 };

/* An object that is being made; one of these is in the frame of its hook. */
struct making {
	u64 sp;
	const void *witness; /* of itself, while the frame is there: a throw may have left it */
	u32 count;
	struct {
		u64 address, bytes;
	} blocks[BLOCKS];
};

static __thread struct making *making __attribute__((tls_model("initial-exec")));
static __thread cl_object structure_type __attribute__((tls_model("initial-exec")));

static enum { ABSENT, STARTING, RUNNING } lisp; /* ABSENT: nothing is told */
static u32 startup_code = HW_NO_CODE;

/* ---- the real functions ---- */

#define REALS(R)                                                                                   \
	R(int, cl_boot, (int, char **))                                                            \
	R(cl_object, ecl_cons, (cl_object, cl_object))                                             \
	R(cl_object, ecl_alloc_object, (cl_type))                                                  \
	R(cl_object, ecl_alloc_compact_object, (cl_type, cl_index))                                \
	R(cl_object, ecl_alloc_instance, (cl_index))                                               \
	R(cl_object, ecl_allocate_instance, (cl_object, cl_index))                                 \
	R(cl_object, cl_copy_structure, (cl_object))                                               \
	R(cl_object, si_copy_instance, (cl_object))                                                \
	R(cl_object, ecl_alloc_simple_vector, (cl_index, cl_elttype))                              \
	R(cl_object, ecl_alloc_adjustable_base_string, (cl_index))                                 \
	R(cl_object, ecl_alloc_adjustable_extended_string, (cl_index))                             \
	R(void *, ecl_alloc, (cl_index))                                                           \
	R(void, ecl_array_allocself, (cl_object))                                                  \
	R(cl_object, ecl_make_cfun, (cl_objectfn_fixed, cl_object, cl_object, int))                \
	R(cl_object, ecl_make_cfun_va, (cl_objectfn, cl_object, cl_object, int))                   \
	R(void *, GC_malloc, (size_t))                                                             \
	R(void *, GC_malloc_atomic, (size_t))                                                      \
	R(void *, GC_malloc_ignore_off_page, (size_t))                                             \
	R(void *, GC_malloc_atomic_ignore_off_page, (size_t))                                      \
	R(void *, GC_malloc_uncollectable, (size_t))                                               \
	R(void, GC_free, (void *))

/* Newer versions have a macro in its place. */
#undef ecl_list1
extern cl_object ecl_list1(cl_object);

static struct {
#define REAL_FIELD(type, name, parameters) type(*name) parameters;
	REALS(REAL_FIELD)
	REAL_FIELD(cl_object, ecl_list1, (cl_object))
	void *si_make_structure;
} real;

/* Of each function: some programs have the collector without Lisp. */
static __attribute__((constructor)) void real_find(void)
{
	if (real.GC_malloc || real.cl_boot)
		return;
#define REAL_FIND(type, name, parameters) *(void **)&real.name = dlsym(RTLD_NEXT, #name);
	REALS(REAL_FIND)
	REAL_FIND(cl_object, ecl_list1, (cl_object))
	real.si_make_structure = dlsym(RTLD_NEXT, "si_make_structure");
}

static bool has_all(void)
{
#define REAL_HAS(type, name, parameters) real.name &&
	return REALS(REAL_HAS) real.si_make_structure;
}

/* ---- objects ---- */

#define CALLER()                                                                                   \
	((struct hw_runtime_caller){                                                               \
		.pc = (u64)__builtin_return_address(0),                                            \
		.sp = (u64)__builtin_dwarf_cfa(),                                                  \
		.fp = *(const u64 *)__builtin_frame_address(0),                                    \
	})

static void tell(u64 address, u64 size, u32 type, const struct hw_runtime_caller *caller)
{
	struct hw_runtime_object object = {
		.address = address,
		.size = size,
		.type = type,
		.code = lisp == STARTING ? startup_code : HW_NO_CODE,
		.caller = *caller,
		.translate = hwl_translate,
	};

	/* It was collected at a moment when nobody looked. */
	if (hwl_heap_add(address))
		heapwise_runtime_collected(address, HW_NO_CODE);
	heapwise_runtime_object(&object);
}

/* The object that this call is a part of; NULL if there is none. */
static struct making *outer(const struct hw_runtime_caller *caller)
{
	struct making *m = making;

	if (m && caller->sp < m->sp && m->sp - caller->sp < NEAR && m->witness == m)
		return m;
	return NULL;
}

/* True: this call makes an object. To be followed by object_end. */
static bool object_begin(struct making *self, const struct hw_runtime_caller *caller)
{
	if (lisp == ABSENT || outer(caller))
		return false;
	self->sp = caller->sp;
	self->count = 0;
	store_relaxed(&self->witness, self);
	making = self;
	return true;
}

/* Tells the object, and the other blocks that were asked for as parts of it. */
static void object_end(struct making *self, u64 address, u32 type, enum hwl_part part,
		       const struct hw_runtime_caller *caller)
{
	making = NULL;
	store_relaxed(&self->witness, NULL);
	for (u32 i = 0; i < self->count; i++)
		tell(self->blocks[i].address, self->blocks[i].bytes,
		     self->blocks[i].address == address ? type : hwl_type_of_part(part), caller);
}

/* Conses are known by a tag in their address. */
static u64 address_of(cl_object object) { return (u64)object & ~(u64)3; }

#define OBJECT(call, type, part)                                                                   \
	do {                                                                                       \
		struct hw_runtime_caller caller = CALLER();                                        \
		struct making self;                                                                \
		bool makes = object_begin(&self, &caller);                                         \
		cl_object object = call;                                                           \
                                                                                                   \
		if (makes)                                                                         \
			object_end(&self, address_of(object), self.count ? type : 0, part,         \
				   &caller);                                                       \
		return object;                                                                     \
	} while (0)

EXPORT cl_object ecl_cons(cl_object a, cl_object b)
{
	OBJECT(real.ecl_cons(a, b), hwl_type_of_tag(t_list), HWL_DATA);
}

EXPORT cl_object ecl_list1(cl_object a)
{
	OBJECT(real.ecl_list1(a), hwl_type_of_tag(t_list), HWL_DATA);
}

/* Whether the call is from the function that makes structures; *known is the last place where it
 * was. */
static bool makes_structure(u64 pc, u64 *known)
{
	struct hw_runtime_place place;

	if (load_relaxed(known) == pc)
		return true;
	if (pc - (u64)real.si_make_structure > STRUCTURE_CODE ||
	    !heapwise_runtime_place(pc, &place) || place.function != (u64)real.si_make_structure)
		return false;
	store_relaxed(known, pc);
	return true;
}

static u32 type_of_new(cl_type tag, u64 pc)
{
	static u64 known;
	cl_object type = structure_type;

	if (tag != t_instance || !type)
		return hwl_type_of_tag(tag);
	structure_type = NULL;
	return makes_structure(pc, &known) ? hwl_type_of_class(type) : hwl_type_of_tag(tag);
}

EXPORT cl_object ecl_alloc_object(cl_type tag)
{
	OBJECT(real.ecl_alloc_object(tag), type_of_new(tag, caller.pc), HWL_DATA);
}

EXPORT cl_object ecl_alloc_compact_object(cl_type tag, cl_index extra)
{
	OBJECT(real.ecl_alloc_compact_object(tag, extra), hwl_type_of_tag(tag), HWL_DATA);
}

EXPORT cl_object ecl_alloc_instance(cl_index slots)
{
	OBJECT(real.ecl_alloc_instance(slots), type_of_new(t_instance, caller.pc),
	       HWL_INSTANCE_SLOTS);
}

EXPORT cl_object ecl_allocate_instance(cl_object class, cl_index size)
{
	OBJECT(real.ecl_allocate_instance(class, size), hwl_type_of_class(class),
	       HWL_INSTANCE_SLOTS);
}

EXPORT cl_object cl_copy_structure(cl_object structure)
{
	OBJECT(real.cl_copy_structure(structure),
	       hwl_type_of_class(object->d.t == t_instance ? ECL_CLASS_OF(object) : ECL_NIL),
	       HWL_STRUCTURE_SLOTS);
}

EXPORT cl_object si_copy_instance(cl_object instance)
{
	OBJECT(real.si_copy_instance(instance), hwl_type_of_class(ECL_CLASS_OF(object)),
	       HWL_INSTANCE_SLOTS);
}

EXPORT cl_object ecl_alloc_simple_vector(cl_index length, cl_elttype element)
{
	OBJECT(real.ecl_alloc_simple_vector(length, element), hwl_type_of_tag(object->d.t),
	       HWL_VECTOR_DATA);
}

EXPORT cl_object ecl_alloc_adjustable_base_string(cl_index length)
{
	OBJECT(real.ecl_alloc_adjustable_base_string(length), hwl_type_of_tag(t_base_string),
	       HWL_VECTOR_DATA);
}

EXPORT cl_object ecl_alloc_adjustable_extended_string(cl_index length)
{
	OBJECT(real.ecl_alloc_adjustable_extended_string(length), hwl_type_of_tag(t_string),
	       HWL_VECTOR_DATA);
}

EXPORT void *ecl_alloc(cl_index size)
{
	static u64 known;
	struct hw_runtime_caller caller = CALLER();
	struct making self;
	bool makes = object_begin(&self, &caller);
	void *block = real.ecl_alloc(size);

	if (makes)
		object_end(&self, 0, 0,
			   makes_structure(caller.pc, &known) ? HWL_STRUCTURE_SLOTS : HWL_DATA,
			   &caller);
	return block;
}

EXPORT void ecl_array_allocself(cl_object array)
{
	struct hw_runtime_caller caller = CALLER();
	struct making self;
	bool makes = object_begin(&self, &caller);

	real.ecl_array_allocself(array);
	if (makes)
		object_end(&self, 0, 0, HWL_VECTOR_DATA, &caller);
}

/* ---- the collector ---- */

/* A block, as part of the object that is being made or by itself. Finalizers run inside the
 * collector's functions: what they make are objects of their own. */
#define BLOCK(name, bytes)                                                                         \
	do {                                                                                       \
		struct hw_runtime_caller caller = CALLER();                                        \
		struct making *of = lisp == ABSENT ? NULL : outer(&caller);                        \
		void *block;                                                                       \
                                                                                                   \
		if (!real.name)                                                                    \
			real_find();                                                               \
		making = NULL;                                                                     \
		block = real.name(bytes);                                                          \
		making = of;                                                                       \
		if (lisp != ABSENT && block && !block_add(of, (u64)block, bytes))                  \
			tell((u64)block, bytes, hwl_type_of_part(HWL_DATA), &caller);              \
		return block;                                                                      \
	} while (0)

static bool block_add(struct making *of, u64 block, u64 bytes)
{
	if (!of || of->count == BLOCKS)
		return false;
	of->blocks[of->count].address = block;
	of->blocks[of->count++].bytes = bytes;
	return true;
}

EXPORT void *GC_malloc(size_t bytes) { BLOCK(GC_malloc, bytes); }
EXPORT void *GC_malloc_atomic(size_t bytes) { BLOCK(GC_malloc_atomic, bytes); }
EXPORT void *GC_malloc_ignore_off_page(size_t bytes) { BLOCK(GC_malloc_ignore_off_page, bytes); }
EXPORT void *GC_malloc_atomic_ignore_off_page(size_t bytes)
{
	BLOCK(GC_malloc_atomic_ignore_off_page, bytes);
}
EXPORT void *GC_malloc_uncollectable(size_t bytes) { BLOCK(GC_malloc_uncollectable, bytes); }

EXPORT void GC_free(void *block)
{
	if (!real.GC_free)
		real_find();
	if (lisp != ABSENT && block && hwl_heap_drop((u64)block))
		heapwise_runtime_collected((u64)block, HW_NO_CODE);
	real.GC_free(block);
}

/* ---- functions ---- */

EXPORT cl_object ecl_make_cfun(cl_objectfn_fixed function, cl_object name, cl_object block,
			       int arguments)
{
	if (lisp != ABSENT)
		hwl_entry_add((u64)function, name);
	OBJECT(real.ecl_make_cfun(function, name, block, arguments), hwl_type_of_tag(object->d.t),
	       HWL_DATA);
}

EXPORT cl_object ecl_make_cfun_va(cl_objectfn function, cl_object name, cl_object block,
				  int arguments)
{
	if (lisp != ABSENT)
		hwl_entry_add((u64)function, name);
	OBJECT(real.ecl_make_cfun_va(function, name, block, arguments),
	       hwl_type_of_tag(object->d.t), HWL_DATA);
}

/* Called by si_make_structure (make_structure.S), which then goes where this says. */
void *hwl_structure_begins(cl_object type);
void *hwl_structure_begins(cl_object type)
{
	if (lisp != ABSENT)
		structure_type = type;
	return real.si_make_structure;
}

/* ---- the start ---- */

/* "libecl.so.21.2" of the version whose headers this was built with. */
static bool is_known_version(const char *path)
{
	static const char known[] = {'l',
				     'i',
				     'b',
				     'e',
				     'c',
				     'l',
				     '.',
				     's',
				     'o',
				     '.',
				     '0' + ECL_VERSION_NUMBER / 100000,
				     '0' + ECL_VERSION_NUMBER / 10000 % 10,
				     '.',
				     0};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	u32 minor = ECL_VERSION_NUMBER / 100 % 100, given = 0;

	if (strncmp(name, known, sizeof known - 1) != 0)
		return false;
	for (name += sizeof known - 1; *name >= '0' && *name <= '9'; name++)
		given = given * 10 + (u32)(*name - '0');
	return given == minor && (!*name || *name == '.');
}

static bool is_fit(void)
{
	struct hw_runtime_place place;
	char words[200];

	if (!has_all() || !heapwise_runtime_place((u64)real.cl_boot + 1, &place)) {
		heapwise_runtime_says(
			"refused: this libecl does not export the functions that allocate");
		return false;
	}
	if (is_known_version(place.module))
		return true;
	strcpy(words, "refused: Heapwise was built for another version of ECL than ");
	strncat(words, place.module, 120);
	heapwise_runtime_says(words);
	return false;
}

EXPORT int cl_boot(int argc, char **argv)
{
	static bool begun;
	bool first = !begun && heapwise_runtime_wanted && heapwise_runtime_wanted() && is_fit();
	int result;

	begun = true;
	if (first) {
		hwl_modules_find((u64)real.cl_boot, (u64)real.GC_malloc);
		startup_code = heapwise_runtime_code("(start of ECL)");
		heapwise_runtime_says("ecl");
		hwl_heap_watch();
		lisp = STARTING;
	}
	result = real.cl_boot(argc, argv);
	if (first) {
		lisp = RUNNING;
		heapwise_mark_named("Lisp has started");
	}
	return result;
}
