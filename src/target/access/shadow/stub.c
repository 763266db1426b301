/* SPDX-License-Identifier: MIT
 * What `heapwise cc` links into each module that it makes: maps the shadow before any code of the
 * module runs, tells the recorder, if there is one, that the module is instrumented, and passes
 * reports on. Runs in the target, also without heapwise: then the shadow stays empty and nothing is
 * ever reported. Needs no library; all its names are the module's own.
 *
 * HW_STUB_PROGRAM: for an executable, which is first of all (.preinit_array); else for a shared
 * library. HW_STUB_MERGES: the compiler tells repeated accesses as one. */
#define HWR_ALONE
#include <link.h>

#include "format/arch/tag.h"
#include "format/atomics.h"
#include "format/shadow.h"
#include "target/recorder/state/sys.h"

#define HIDDEN __attribute__((visibility("hidden")))
enum { NO_REPLACE = 0x100000 /* MAP_FIXED_NOREPLACE */, EXISTS = -17, GIVE_UP = 127 };

extern const ElfW(Ehdr) __ehdr_start HIDDEN;
extern const char etext[] HIDDEN;

static const struct {
	u32 name_bytes, content_bytes, type;
	char name[12];
	u32 version;
} note __attribute__((section(".note.heapwise"), aligned(4), used)) = {
	sizeof(HW_NOTE_NAME), 4, HW_NOTE_ACCESS, HW_NOTE_NAME, HW_BOARD_VERSION,
};

/* Without a shadow the first check would end the program anyway, and less clearly. */
static void give_up(void)
{
	static const char text[] =
		"heapwise: this program was built with 'heapwise cc' and cannot map its shadow "
		"memory; check ulimit -v\n";

	hwr_write(2, text, sizeof(text) - 1);
	for (;;)
		hwr_syscall3(SYS_exit_group, GIVE_UP, 0, 0);
}

static long map_at(u64 address, u64 bytes, int protection)
{
	return hwr_syscall6(SYS_mmap, (long)address, (long)bytes, protection,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | NO_REPLACE, -1, 0);
}

/* Only read: memory that can be written would count where the system promises no more than it
 * has. */
static void map_shadow(void)
{
	long shadow = map_at(HW_SHADOW_OFFSET, HW_SHADOW_BYTES, PROT_READ);

	if (shadow != (long)HW_SHADOW_OFFSET)
		give_up();
	hwr_madvise((void *)HW_SHADOW_OFFSET, HW_SHADOW_BYTES, MADV_DONTDUMP);
}

/* Whoever comes first maps the board and then the shadow; no other thread runs yet, or it was
 * there. */
static void map_all(void)
{
	long board = map_at(HW_BOARD_ADDRESS, HW_BOARD_BYTES, PROT_READ | PROT_WRITE);

	if (board == (long)HW_BOARD_ADDRESS) {
		HW_BOARD->magic = HW_BOARD_MAGIC;
		HW_BOARD->version = HW_BOARD_VERSION;
		map_shadow();
	} else if (board != EXISTS || HW_BOARD->magic != HW_BOARD_MAGIC ||
		   HW_BOARD->version != HW_BOARD_VERSION) {
		give_up();
	}
}

static u64 module_start(void) { return (u64)&__ehdr_start; }

static void enter(void)
{
	u32 flags = 0;

#ifdef HW_STUB_MERGES
	flags |= HW_MODULE_MERGES;
#endif
	map_all();
	or_relaxed(&HW_BOARD->module_flags, flags);
	for (u32 i = 0; i < HW_BOARD_MODULES; i++) {
		struct hw_board_module *module = &HW_BOARD->module[i];
		u64 nobody = 0;

		/* Entries in use have a start; the recorder believes them when they have an end. */
		if (load_relaxed(&module->start) ||
		    !cas_acq_rel(&module->start, &nobody, module_start()))
			continue;
		module->flags = flags;
		store_release(&module->end, (u64)etext);
		if (load_relaxed(&HW_BOARD->modules_used) <= i)
			store_release(&HW_BOARD->modules_used, i + 1);
		return;
	}
}

#ifdef HW_STUB_PROGRAM
static void (*const first_of_all)(void) __attribute__((section(".preinit_array"), used)) = enter;
#else
static void leave(void)
{
	for (u32 i = 0; i < HW_BOARD_MODULES; i++) {
		struct hw_board_module *module = &HW_BOARD->module[i];

		if (load_relaxed(&module->start) != module_start())
			continue;
		store_relaxed(&module->end, 0);
		store_release(&module->start, 0);
		return;
	}
}

/* Sorted before all others, whatever priority they have; and after them at the end. */
static void (*const first_of_all)(void) __attribute__((section(".init_array.00000"), used)) = enter;
static void (*const last_of_all)(void) __attribute__((section(".fini_array.00000"), used)) = leave;
#endif

/* ---- what instrumented code calls ---- */

#define DEFINE_REPORT(name, number)                                                                \
	HIDDEN void __asan_report_##name##_noabort(u64 address);                                   \
	HIDDEN void __asan_report_##name##_noabort(u64 address)                                    \
	{                                                                                          \
		HW_BOARD->report[number](hw_untagged(address), 0);                                 \
	}
HW_REPORTS(DEFINE_REPORT)

#define DEFINE_REPORT_N(name, number)                                                              \
	HIDDEN void name(u64 address, u64 bytes);                                                  \
	HIDDEN void name(u64 address, u64 bytes)                                                   \
	{                                                                                          \
		HW_BOARD->report[number](hw_untagged(address), bytes);                             \
	}
DEFINE_REPORT_N(__asan_report_load_n_noabort, HW_REPORT_LOAD_N)
DEFINE_REPORT_N(__asan_report_store_n_noabort, HW_REPORT_STORE_N)

/* Calls that compilers make instead of inline checks here and there. */
static inline bool is_armed(u64 address) { return *hw_shadow_of(hw_untagged(address)) != 0; }

#define DEFINE_CALL(name, number)                                                                  \
	HIDDEN void __asan_##name##_noabort(u64 address);                                          \
	HIDDEN void __asan_##name##_noabort(u64 address)                                           \
	{                                                                                          \
		if (is_armed(address))                                                             \
			HW_BOARD->report[number](hw_untagged(address), 0);                         \
	}
HW_REPORTS(DEFINE_CALL)

#define DEFINE_CALL_N(name, number)                                                                \
	HIDDEN void name(u64 address, u64 bytes);                                                  \
	HIDDEN void name(u64 address, u64 bytes)                                                   \
	{                                                                                          \
		if (is_armed(address))                                                             \
			HW_BOARD->report[number](hw_untagged(address), bytes);                     \
	}
DEFINE_CALL_N(__asan_loadN_noabort, HW_REPORT_LOAD_N)
DEFINE_CALL_N(__asan_storeN_noabort, HW_REPORT_STORE_N)

/* Of no interest: stacks and globals are never armed. */
#define DEFINE_NOTHING(name, parameters)                                                           \
	HIDDEN void name parameters;                                                               \
	HIDDEN void name parameters {}
DEFINE_NOTHING(__asan_handle_no_return, (void))
DEFINE_NOTHING(__asan_poison_stack_memory,
	       (u64 address __attribute__((unused)), u64 bytes __attribute__((unused))))
DEFINE_NOTHING(__asan_unpoison_stack_memory,
	       (u64 address __attribute__((unused)), u64 bytes __attribute__((unused))))
DEFINE_NOTHING(__asan_alloca_poison,
	       (u64 address __attribute__((unused)), u64 bytes __attribute__((unused))))
DEFINE_NOTHING(__asan_allocas_unpoison,
	       (u64 top __attribute__((unused)), u64 bottom __attribute__((unused))))
DEFINE_NOTHING(__asan_register_globals,
	       (void *globals __attribute__((unused)), u64 count __attribute__((unused))))
DEFINE_NOTHING(__asan_unregister_globals,
	       (void *globals __attribute__((unused)), u64 count __attribute__((unused))))
DEFINE_NOTHING(__asan_before_dynamic_init, (const char *module __attribute__((unused))))
DEFINE_NOTHING(__asan_after_dynamic_init, (void))

/* Programs that know the sanitizer tell it of allocators of their own; clang lets them see that it
 * is on. */
DEFINE_NOTHING(__asan_poison_memory_region, (const volatile void *address __attribute__((unused)),
					     u64 bytes __attribute__((unused))))
DEFINE_NOTHING(__asan_unpoison_memory_region, (const volatile void *address __attribute__((unused)),
					       u64 bytes __attribute__((unused))))
HIDDEN int __asan_address_is_poisoned(const volatile void *address);
HIDDEN int __asan_address_is_poisoned(const volatile void *address)
{
	(void)address;
	return 0;
}
HIDDEN void *__asan_region_is_poisoned(void *address, u64 bytes);
HIDDEN void *__asan_region_is_poisoned(void *address, u64 bytes)
{
	(void)address;
	(void)bytes;
	return NULL;
}
