/* SPDX-License-Identifier: MIT
 * Binds to us what RTLD_DEEPBIND has bound past us; see unwind/modules.h. Runs in the target.
 * The C library's dlopen looks at who called it, for the folders that its module names and for
 * $ORIGIN: so ours ends in a jump to it, and modules are mended at the next event of the thread;
 * but where a path says all, it is called, and they are mended when it returns. Modules are read
 * below the loader's lock. Where new modules are looked at in any case it is also called if who
 * called it makes no difference. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "target/recorder/state/access.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/modules.h"

u32 hwr_bindings_loading;

#if !defined(HWR_MUSL) &&                                                                          \
	!defined(                                                                                  \
		HWR_LINKED) /* musl does not know the flag; what is linked in comes first anyway */

typedef void *(*opener)(const char *file, int mode);

/* Threads in dlopen. If there are more at a time, modules of the others are mended when it returns,
 * or not at all. */
enum { LOADING_MAX = 16, PATIENCE = 64 /* events: a module that was not found is given up */ };
static struct loading {
	u64 thread; /* its thread pointer; 0 = free */
	u64 before; /* modules that were ever loaded, when it began */
	u32 patience;
} loading[LOADING_MAX];

struct module {
	struct link_map map; /* as the functions of real.h want it */
	u64 start, end;
	u64 sealed_start, sealed_end; /* pages that cannot be written after relocation */
	const ElfW(Sym) * symbols;
	const char *strings;
};

struct search {
	const struct link_map *ours;
	u64 count, first_new; /* modules; those from this one on are new */
};

/* ---- one module ---- */

static void module_read(struct module *self, const struct dl_phdr_info *info)
{
	*self = (struct module){.map = {.l_addr = info->dlpi_addr,
					.l_name = (char *)info->dlpi_name},
				.start = UINT64_MAX};
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type == PT_LOAD) {
			self->start = start < self->start ? start : self->start;
			self->end = end > self->end ? end : self->end;
		} else if (p->p_type == PT_DYNAMIC) {
			self->map.l_ld = (ElfW(Dyn) *)start;
		} else if (p->p_type == PT_GNU_RELRO) { /* whole pages, as the loader does it */
			self->sealed_start = start & -HWR_PAGE;
			self->sealed_end = end & -HWR_PAGE;
		}
	}
}

static bool set_protection(u64 page, int protection)
{
	return hwr_ask3(SYS_mprotect, (long)page, (long)HWR_PAGE, protection) == 0;
}

static void bind(const struct module *self, u64 *slot, u64 function)
{
	u64 page = (u64)slot & -HWR_PAGE;
	bool sealed = page >= self->sealed_start && page < self->sealed_end;

	if (sealed && !set_protection(page, PROT_READ | PROT_WRITE))
		return; /* as it was: what it frees is not seen */
	store_relaxed(slot, function);
	if (sealed)
		set_protection(page, PROT_READ);
}

/* Whether a word leads past us to the function that comes after ours, or will when it is first
 * called. Where a program has the function itself, ours is nobody's. */
static bool leads_past(const struct module *self, const char *name, u64 to)
{
	u64 start = 0, end = 0;

	if (!hwr_real_comes_from(name, ""))
		return false;
	if (to >= self->start && to < self->end)
		return true; /* not yet: it is the way to the loader */
	return hwr_real_symbol(name, &start, &end) && to >= start && to < end;
}

static void look_at(const struct module *self, const struct search *search, const ElfW(Rela) * r)
{
	u32 type = ELF64_R_TYPE(r->r_info), number = (u32)ELF64_R_SYM(r->r_info);
	const ElfW(Sym) *symbol = &self->symbols[number];
	const char *name = self->strings + symbol->st_name;
	u64 *slot = (u64 *)(self->map.l_addr + r->r_offset);
	u64 function, bytes;

	if ((type != HWR_TO_SLOT && type != HWR_TO_DATA && type != HWR_TO_WORD) || !number ||
	    r->r_addend || symbol->st_shndx != SHN_UNDEF || *slot - hwr_own_start < hwr_own_bytes)
		return;
	if (hwr_real_function_in(search->ours, name, &function, &bytes) &&
	    leads_past(self, name, *slot))
		bind(self, slot, function);
}

static void look_through(struct module *self, const struct search *search)
{
	const ElfW(Rela) * tables[2] = {NULL, NULL};
	u64 bytes[2] = {0, 0};

	if (!self->map.l_ld)
		return;
	for (const ElfW(Dyn) *d = self->map.l_ld; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)d->d_un.d_ptr; /* the loader has added the base */

		switch (d->d_tag) {
		case DT_SYMTAB: self->symbols = at; break;
		case DT_STRTAB: self->strings = at; break;
		case DT_RELA: tables[0] = at; break;
		case DT_RELASZ: bytes[0] = d->d_un.d_val; break;
		case DT_JMPREL: tables[1] = at; break;
		case DT_PLTRELSZ: bytes[1] = d->d_un.d_val; break;
		default: break;
		}
	}
	if (!self->symbols || !self->strings)
		return;
	for (u32 table = 0; table < 2; table++)
		for (u64 i = 0; tables[table] && i < bytes[table] / sizeof(ElfW(Rela)); i++)
			look_at(self, search, &tables[table][i]);
}

/* ---- all that are new ---- */

static int read_adds(struct dl_phdr_info *info, size_t bytes, void *adds)
{
	(void)bytes;
	*(u64 *)adds = info->dlpi_adds;
	return 1;
}

static int count_modules(struct dl_phdr_info *info, size_t bytes, void *search)
{
	(void)info;
	(void)bytes;
	((struct search *)search)->count++;
	return 0;
}

/* The loader appends what it loads. */
static int mend_module(struct dl_phdr_info *info, size_t bytes, void *search_)
{
	struct search *search = search_;
	struct module module;

	(void)bytes;
	if (search->count++ >= search->first_new) {
		module_read(&module, info);
		look_through(&module, search);
	}
	return 0;
}

/* False: none is. */
static bool mend_since(u64 before)
{
	struct search search = {.ours = hwr_first_map()};
	u64 adds = before;

	dl_iterate_phdr(read_adds, &adds);
	while (search.ours && !hwr_map_has_us(search.ours))
		search.ours = search.ours->l_next;
	if (adds == before || !search.ours)
		return false;
	dl_iterate_phdr(count_modules, &search);
	search.first_new = search.count > adds - before ? search.count - (adds - before) : 0;
	search.count = 0;
	dl_iterate_phdr(mend_module, &search);
	return true;
}

/* ---- who loads ---- */

static struct loading *own_entry(void)
{
	for (u32 i = 0; i < LOADING_MAX; i++)
		if (load_relaxed(&loading[i].thread) == (u64)hwr_thread_pointer())
			return &loading[i];
	return NULL;
}

static struct loading *free_entry(void)
{
	for (u32 i = 0; i < LOADING_MAX; i++) {
		u64 nobody = 0;

		if (cas_acq_rel(&loading[i].thread, &nobody, (u64)hwr_thread_pointer())) {
			add_relaxed(&hwr_bindings_loading, 1);
			return &loading[i];
		}
	}
	return NULL;
}

static void release(struct loading *entry)
{
	store_release(&entry->thread, 0);
	add_relaxed(&hwr_bindings_loading, (u32)-1);
}

void hwr_bindings_mend(void)
{
	struct loading *entry = own_entry();

	if (entry && (mend_since(entry->before) || --entry->patience == 0))
		release(entry);
}

/* ---- dlopen ---- */

static bool is_whole_path(const char *file)
{
	bool has_folder = false;

	for (; *file && *file != '$'; file++)
		has_folder |= *file == '/';
	return has_folder && !*file;
}

static __attribute__((noinline)) u64 begin(void)
{
	struct loading *entry = own_entry();
	u64 adds = 0;

	dl_iterate_phdr(read_adds, &adds);
	if (!entry)
		entry = free_entry();
	if (entry) {
		entry->before = adds;
		entry->patience = PATIENCE;
	}
	return adds;
}

static __attribute__((noinline)) void *open_path(opener next, const char *file, int mode,
						 u64 before)
{
	void *handle = next(file, mode);
	struct loading *entry = own_entry();

	if (handle)
		mend_since(before);
	if (entry)
		release(entry);
	hwr_access_modules();
	return handle;
}

/* Whether a file is the same whoever asks for it: the program's own DT_RPATH holds for all, others
 * for whom their modules have loaded, DT_RUNPATH for its module. */
struct asked {
	u64 caller;
	bool first, differs;
};

static bool has_entry(const struct module *self, i64 tag)
{
	for (const ElfW(Dyn) *d = self->map.l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return true;
	return false;
}

static int look_for_paths(struct dl_phdr_info *info, size_t bytes, void *asked_)
{
	struct asked *asked = asked_;
	struct module module;

	(void)bytes;
	module_read(&module, info);
	asked->differs |= !asked->first && has_entry(&module, DT_RPATH);
	asked->differs |= asked->caller - module.start < module.end - module.start &&
			  has_entry(&module, DT_RUNPATH);
	asked->first = false;
	return asked->differs;
}

static bool is_same_for_all(const char *file, u64 caller)
{
	struct asked asked = {.caller = caller, .first = true};

	if (is_whole_path(file))
		return true;
	for (const char *c = file; *c; c++)
		if (*c == '$')
			return false;
	dl_iterate_phdr(look_for_paths, &asked);
	return !asked.differs;
}

static __attribute__((noinline)) void *open_same(opener next, const char *file, int mode)
{
	void *handle = next(file, mode);

	if (handle)
		hwr_access_modules();
	return handle;
}

HWR_EXPORT void *dlopen(const char *file, int mode)
{
	static void *real;
	opener next = (opener)load_relaxed(&real);
	u64 before;

	if (unlikely(!next)) {
		next = (opener)hwr_real_symbol("dlopen", NULL, NULL);
		store_relaxed(&real, (void *)next);
		if (!next)
			return NULL;
	}
	hwr_access_keep(file);
	if (likely(!(mode & RTLD_DEEPBIND) || !file)) {
		if (file && hwr_access_wants_modules() &&
		    is_same_for_all(file, (u64)__builtin_return_address(0)))
			return open_same(next, file, mode);
		return next(file, mode);
	}
	before = begin();
	return is_whole_path(file) ? open_path(next, file, mode, before) : next(file, mode);
}

#else

void hwr_bindings_mend(void) {}

#endif
