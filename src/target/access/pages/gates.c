/* SPDX-License-Identifier: MIT
 * Gates before system calls; see gates.h. Runs in the target. */
#include "target/access/pages/gates.h"

#include <link.h>
#include <linux/aio_abi.h>

#include "target/access/pages/arch/arch.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/pins.h"
#include "target/access/pages/units.h"
#include "target/access/pages/userfault.h"
#include "target/recorder/pool/detour.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/cfi.h"

_Static_assert(HW_HEAP_START >> HWR_WINDOW_BITS == HWR_WINDOW &&
		       (HW_HEAP_START + HW_HEAP_BYTES - 1) >> HWR_WINDOW_BITS == HWR_WINDOW,
	       "entries of gates look at the window");

enum {
	CODE_MOST = 64 << 20, /* of a segment: more takes too long to read */
	SOCKET_IOCTLS = 0x89, /* they do not say their size: */
	SOCKET_IOCTL_BYTES = 24,
};

/* ---- what the kernel is given ---- */

static u64 ioctl_bytes(u64 request)
{
	u64 bytes = request >> 16 & 0x3fff;

	return bytes || (request >> 8 & 0xff) != SOCKET_IOCTLS ? bytes : SOCKET_IOCTL_BYTES;
}

/* What these read and write may be used after the call is over. */
static void keep_requests(const struct iocb *const *requests, long count)
{
	for (long i = 0; i < count && hwr_readable((u64)&requests[i]); i++) {
		const struct hwr_vector *vectors = (const struct hwr_vector *)requests[i]->aio_buf;
		bool scattered = requests[i]->aio_lio_opcode == IOCB_CMD_PREADV ||
				 requests[i]->aio_lio_opcode == IOCB_CMD_PWRITEV;

		hwr_access_keep(requests[i]);
		hwr_access_keep(vectors);
		for (u64 k = 0; scattered && k < requests[i]->aio_nbytes; k++)
			hwr_access_keep((const void *)vectors[k].base);
	}
}

/* From now on the kernel uses memory that no call names. */
static void leave_to_kernel(void)
{
	if (hwr_userfault_on())
		return;
	/* a forked child: what was armed is still closed there */
	if (!load_relaxed(&hwr_token.alive)) {
		hwr_units_open_all(true);
	} else if (hwr_pages_on()) {
		hwr_fault(HW_FAULT_IO_URING);
		hwr_access_faults_stop();
	}
}

/* clang-format off */
/* Calls whose arguments lead to memory that they do not name. */
#define NESTED(N)                                                                                  \
	N(SYS_readv) N(SYS_writev) N(SYS_preadv) N(SYS_pwritev) N(SYS_preadv2) N(SYS_pwritev2)     \
	N(SYS_vmsplice) N(SYS_process_vm_readv) N(SYS_process_vm_writev) N(SYS_sendmsg)            \
	N(SYS_recvmsg) N(SYS_sendmmsg) N(SYS_recvmmsg) N(SYS_execve) N(SYS_execveat) N(SYS_ioctl)  \
	N(SYS_setsockopt) N(SYS_pselect6) N(SYS_io_submit) N(SYS_io_uring_setup)
/* clang-format on */

static void pin_nested(struct hwr_pins *pins, long number, const long a[6])
{
	switch (number) {
	case SYS_readv:
	case SYS_writev:
	case SYS_preadv:
	case SYS_pwritev:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_vmsplice:
	case SYS_process_vm_readv:
	case SYS_process_vm_writev:
		hwr_pin_vectors(pins, (const struct hwr_vector *)a[1], (u64)a[2]);
		break;
	case SYS_sendmsg:
	case SYS_recvmsg: hwr_pin_message(pins, (const struct hwr_message *)a[1]); break;
	case SYS_sendmmsg:
	case SYS_recvmmsg:
		hwr_pin_messages(pins, (const struct hwr_messages *)a[1], (u32)a[2]);
		break;
	case SYS_execve:
		hwr_pin_texts(pins, (char *const *)a[1]);
		hwr_pin_texts(pins, (char *const *)a[2]);
		break;
	case SYS_execveat:
		hwr_pin_texts(pins, (char *const *)a[2]);
		hwr_pin_texts(pins, (char *const *)a[3]);
		break;
	case SYS_ioctl: hwr_pin_words(pins, (const u64 *)a[2], ioctl_bytes((u64)a[1])); break;
	case SYS_setsockopt: hwr_pin_words(pins, (const u64 *)a[3], (u32)a[4]); break;
	case SYS_pselect6: hwr_pin_words(pins, (const u64 *)a[5], 2 * sizeof(u64)); break;
	case SYS_io_submit:
		hwr_pin(pins, (u64)a[2]);
		keep_requests((const struct iocb *const *)a[2], a[1]);
		break;
	case SYS_io_uring_setup: leave_to_kernel(); break;
	default: break;
	}
}

void hwr_gate_pin(struct hwr_pins *pins, long number, const long a[6])
{
	if (number == SYS_futex) { /* a lock: others use it at any time */
		hwr_access_keep((const void *)a[0]);
		hwr_access_keep((const void *)a[4]);
		hwr_pin(pins, (u64)a[3]);
		return;
	}
	for (u32 i = 0; i < 6; i++)
		hwr_pin(pins, (u64)a[i]);
	pin_nested(pins, number, a);
}

long hwr_gate_call(const struct hwr_gate_frame *frame)
{
	const long *a = frame->arguments;
	struct hwr_pins pins;
	long result;

	pins.count = 0;
	hwr_gate_pin(&pins, frame->number, a);
	result = hwr_syscall6(frame->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	hwr_unpin(&pins);
	return result;
}

/* ---- calls at which a thread can be cancelled ---- */

static long call_cancellable(long a, long b, long c, long d, long e, long f, long number);
static struct hwr_detour cancellable = {.instead = (u64)call_cancellable};

/* In place of glibc's __internal_syscall_cancel. A thread that is cancelled in there does not come
 * back. */
static long call_cancellable(long a, long b, long c, long d, long e, long f, long number)
{
	const long arguments[6] = {a, b, c, d, e, f};
	struct hwr_pins pins;
	long result;

	pins.count = 0;
	hwr_gate_pin(&pins, number, arguments);
	result = ((long (*)(long, long, long, long, long, long,
			    long))cancellable.real)(a, b, c, d, e, f, number);
	hwr_unpin(&pins);
	return result;
}

/* The call is that of __syscall_cancel_arch. */
static void detour_cancellable(u64 call, u64 start, u64 end, const struct hwr_module_at *module)
{
	u64 inner = hwr_cfi_start(call, module),
	    caller = inner ? hwr_gate_find_caller(start, end, inner) : 0;

	cancellable.function = caller ? hwr_cfi_start(caller, module) : 0;
	cancellable.bytes = caller - cancellable.function;
	if (cancellable.function)
		hwr_detour_make(&cancellable);
}

/* ---- calls that look at their arguments while signals are blocked ---- */

/* As posix_spawn, for which calls.c stands in; but not every C library has these, and programs look
 * for them. */
#define SPAWNS(F) F(pidfd_spawn) F(pidfd_spawnp)

#define DEFINE_SPAWN(name)                                                                         \
	static struct hwr_detour detour_##name;                                                    \
	static long call_##name(long a, long b, long c, long d, long e, long f)                    \
	{                                                                                          \
		struct hwr_pins pins;                                                              \
		long result;                                                                       \
                                                                                                   \
		pins.count = 0;                                                                    \
		hwr_gate_pin_spawn(&pins, (const long[6]){a, b, c, d, e, f});                      \
		result = ((long (*)(long, long, long, long, long,                                  \
				    long))detour_##name.real)(a, b, c, d, e, f);                   \
		hwr_unpin(&pins);                                                                  \
		return result;                                                                     \
	}

void hwr_gate_pin_spawn(struct hwr_pins *pins, const long a[6])
{
	for (u32 i = 0; i < 4; i++)
		hwr_pin(pins, (u64)a[i]);
	hwr_pin_texts(pins, (char *const *)a[4]);
	hwr_pin_texts(pins, (char *const *)a[5]);
}

SPAWNS(DEFINE_SPAWN)

static void detour_function(struct hwr_detour *detour, const char *name, u64 instead)
{
	detour->function = (u64)hwr_real_symbol(name, NULL, NULL);
	detour->instead = instead;
	if (detour->function)
		hwr_detour_make(detour);
}

/* ---- making gates ---- */

/* Those that do not come back as they went, or come back twice; and those that never use memory of
 * the caller: what their registers hold by chance would count as touched. */
static const short without[] = {
	/* clang-format off */
	SYS_clone, SYS_clone3, SYS_rt_sigreturn, SYS_exit, SYS_exit_group,
#ifdef SYS_fork
	SYS_fork, SYS_vfork,
#endif
	SYS_close, SYS_lseek, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_madvise, SYS_mremap,
	SYS_fsync, SYS_fdatasync, SYS_dup, SYS_dup3, SYS_getpid, SYS_gettid, SYS_getppid,
	SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_kill, SYS_tgkill, SYS_tkill,
	SYS_sched_yield, SYS_socket, SYS_listen, SYS_shutdown, SYS_ftruncate, SYS_fchmod,
	SYS_fchown, SYS_fchdir, SYS_flock, SYS_setsid, SYS_getpgid, SYS_setpgid, SYS_umask,
	SYS_timerfd_create, SYS_eventfd2, SYS_epoll_create1,
	/* clang-format on */
};

static bool is_without(long number)
{
	for (u32 i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (without[i] == number)
			return true;
	return false;
}

static u64 entry_of(long number)
{
#define ENTRY(call) case call:
	switch (number) {
		NESTED(ENTRY)
		return (u64)hwr_gate_always;
	default: return (u64)hwr_gate;
	}
#undef ENTRY
}

struct code { /* a segment of a module */
	u64 start, end;
	struct hwr_module_at module;
	u64 cancellable; /* the call at which threads are cancelled, or 0 */
	bool writable;
	u8 *stubs; /* a page of them */
	u32 used;
};

static void finish_stubs(struct code *self)
{
	if (!self->stubs)
		return;
	hwr_detour_sync((u64)self->stubs, HWR_DETOUR_PAD);
	hwr_detour_protect((u64)self->stubs, HWR_DETOUR_PAD, PROT_READ | PROT_EXEC);
	self->stubs = NULL;
}

/* Room for a stub near the site, and the right to change its code. */
static u8 *take_stub(struct code *self, u64 near)
{
	if (self->stubs && self->used == HWR_DETOUR_PAD / HWR_GATE_STUB)
		finish_stubs(self);
	if (!self->stubs) {
		self->stubs = hwr_detour_near(near, hwr_detour_reach);
		self->used = 0;
	}
	if (self->stubs && !self->writable)
		self->writable = hwr_detour_protect(self->start, self->end - self->start,
						    PROT_READ | PROT_WRITE | PROT_EXEC);
	return self->stubs && self->writable ? self->stubs + self->used * HWR_GATE_STUB : NULL;
}

/* What no unwind table describes may be data, or nothing. */
static bool has_gate(const struct code *self, struct hwr_gate_site *site)
{
	u64 function = hwr_cfi_start(site->call, &self->module);

	if (!function || function < self->start + HWR_GATE_GAP)
		return false;
	if (!hwr_gate_look(site, function,
			   !hwr_cfi_start(function - 1, &self->module) &&
				   !hwr_cfi_start(function - HWR_GATE_GAP, &self->module)))
		return false;
	return !is_without(site->number);
}

static void make_gates(struct code *self)
{
	struct hwr_gate_site site;
	u8 *stub;

	for (u64 at = self->start; hwr_gate_find(at, self->end, &site);) {
		at = site.call + 1;
		if (site.call - self->start < HWR_GATE_GAP ||
		    site.call + HWR_GATE_BEHIND > self->end)
			continue;
		if (hwr_gate_is_cancellable(site.call))
			self->cancellable = site.call;
		if (!has_gate(self, &site))
			continue;
		stub = take_stub(self, site.patch);
		if (!stub)
			break;
		if (hwr_gate_write(&site, stub, entry_of(site.number)))
			self->used++;
	}
	finish_stubs(self);
	if (!self->writable)
		return;
	hwr_detour_sync(self->start, self->end - self->start);
	hwr_detour_restore(self->start, self->end - self->start);
}

static bool is_ours(const struct hwr_module_at *module)
{
	return (u64)hwr_gates_open - module->start < module->end - module->start;
}

/* The loader appends what it loads. */
struct modules {
	u64 count, first_new;
};
static u64 modules_added; /* ever, when gates were made last; below the loader's lock */

static int count_modules(struct dl_phdr_info *info, size_t bytes, void *modules_)
{
	struct modules *modules = modules_;

	(void)bytes;
	modules->count++;
	modules->first_new = info->dlpi_adds - modules_added;
	return 0;
}

static int open_module(struct dl_phdr_info *info, size_t bytes, void *modules_)
{
	struct modules *modules = modules_;

	(void)bytes;
	modules_added = info->dlpi_adds;
	if (modules->count++ < modules->first_new)
		return 0;
	if (info->dlpi_name && hwr_is_library(info->dlpi_name, "linux-vdso"))
		return 0;
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		struct code code = {.start = info->dlpi_addr + segment->p_vaddr};

		code.end = code.start + segment->p_memsz;
		if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_X | PF_W)) != PF_X ||
		    segment->p_memsz > CODE_MOST)
			continue;
		if (!hwr_module_at(code.start, &code.module) || is_ours(&code.module))
			continue;
		make_gates(&code);
		if (code.cancellable && hwr_is_library(info->dlpi_name, "libc.so.6"))
			detour_cancellable(code.cancellable, code.start, code.end, &code.module);
	}
	return 0;
}

static bool opened;

/* No handler may run what is half written. */
static void open_modules(void)
{
	struct modules modules = {0};
	u64 all = ~0ull, mask = 0, added;

	hwr_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&mask, 8, 0, 0);
	dl_iterate_phdr(count_modules, &modules);
	added = modules.first_new;
	modules.first_new = modules.count > added ? modules.count - added : 0;
	modules.count = 0;
	if (added)
		dl_iterate_phdr(open_module, &modules);
	hwr_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
}

bool hwr_access_wants_modules(void) { return load_relaxed(&opened) && hwr_pages_on(); }

/* Of modules that were just loaded: other threads do not know their functions yet. */
void hwr_access_modules(void)
{
	if (hwr_access_wants_modules())
		open_modules();
}

void hwr_gates_open(void)
{
	if (opened)
		return;
	open_modules();
#define DETOUR_SPAWN(name) detour_function(&detour_##name, #name, (u64)call_##name);
	SPAWNS(DETOUR_SPAWN)
#undef DETOUR_SPAWN
	store_relaxed(&opened, true);
}
