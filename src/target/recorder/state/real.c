/* SPDX-License-Identifier: MIT
 * Symbol lookup by reading the loaded objects. Runs in the target, first of all, possibly before
 * libc is initialised: uses nothing but the loader's list and mapped memory. */
#include "target/recorder/state/real.h"

#include <elf.h>
#include <errno.h>
#include <link.h>

#include "format/atomics.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/objects.h"

struct hwr_real hwr_real;

struct object {
	const ElfW(Sym) * symbols;
	const char *strings;
	const u32 *gnu_hash;
	const u32 *sysv_hash;
	const u16 *versions;
	u64 base;
};

/* glibc relocates the pointers of the dynamic section in place, musl and the vdso do not. */
static const void *dynamic_pointer(const struct link_map *map, u64 value)
{
	return (const void *)(value >= map->l_addr ? value : value + map->l_addr);
}

static bool object_read(const struct link_map *map, struct object *o)
{
	hwr_zero(o, sizeof *o);
	o->base = map->l_addr;
	if (!map->l_ld)
		return false;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *at = dynamic_pointer(map, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB: o->symbols = at; break;
		case DT_STRTAB: o->strings = at; break;
		case DT_GNU_HASH: o->gnu_hash = at; break;
		case DT_HASH: o->sysv_hash = at; break;
		case DT_VERSYM: o->versions = at; break;
		default: break;
		}
	}
	return o->symbols && o->strings;
}

/* A defined function under its default version (bit 15 marks the others). */
static bool symbol_fits(const struct object *o, u32 index, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[index];
	u32 type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
	       ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
	       !(o->versions && (o->versions[index] & 0x8000)) &&
	       hwr_same(o->strings + s->st_name, name, hwr_length(name) + 1);
}

static u32 gnu_hash_of(const char *name)
{
	u32 h = 5381;

	for (; *name; name++)
		h = h * 33 + (u8)*name;
	return h;
}

/* Index of the symbol, 0 if the object does not define it. */
static u32 find_gnu(const struct object *o, const char *name)
{
	const u32 *table = o->gnu_hash;
	u32 buckets = table[0], first = table[1], words = table[2];
	const u32 *bucket = table + 4 + words * 2;
	const u32 *chain = bucket + buckets;
	u32 hash = gnu_hash_of(name);
	u32 i = buckets ? bucket[hash % buckets] : 0;

	if (i < first)
		return 0;
	for (;; i++) {
		u32 h = chain[i - first];

		if ((h | 1) == (hash | 1) && symbol_fits(o, i, name))
			return i;
		if (h & 1)
			return 0;
	}
}

static u32 find_sysv(const struct object *o, const char *name)
{
	u32 count = o->sysv_hash[1];

	for (u32 i = 1; i < count; i++)
		if (symbol_fits(o, i, name))
			return i;
	return 0;
}

/* libc chooses among several forms of some functions (memcpy) by the processor. */
static void *symbol_value(const struct object *o, const ElfW(Sym) * symbol)
{
	void *at = (void *)(o->base + symbol->st_value);

	if (ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC)
		return at;
	return ((void *(*)(u64, const void *))at)(0, NULL);
}

static u32 find_index(const struct link_map *map, struct object *o, const char *name)
{
	if (!object_read(map, o))
		return 0;
	if (o->gnu_hash)
		return find_gnu(o, name);
	return o->sysv_hash ? find_sysv(o, name) : 0;
}

static void *find_in(const struct link_map *map, const char *name)
{
	struct object o;
	u32 index = find_index(map, &o, name);

	return index ? symbol_value(&o, &o.symbols[index]) : NULL;
}

bool hwr_real_function_in(const struct link_map *map, const char *name, u64 *start, u64 *bytes)
{
	struct object o;
	u32 index = find_index(map, &o, name);

	if (!index || ELF64_ST_TYPE(o.symbols[index].st_info) != STT_FUNC)
		return false;
	*start = o.base + o.symbols[index].st_value;
	*bytes = o.symbols[index].st_size;
	return true;
}

static void *search(const struct link_map *from, const struct link_map *to, const char *name)
{
	void *found = NULL;

	for (; from && from != to && !found; from = from->l_next)
		if (!hwr_map_has_us(from))
			found = find_in(from, name);
	return found;
}

void *hwr_real_symbol(const char *name, u64 *start, u64 *end)
{
	const struct link_map *first = hwr_first_map();
	const struct link_map *ours = first;
	struct hwr_module_at module = {0};
	void *found;

	while (ours && !hwr_map_has_us(ours))
		ours = ours->l_next;
	found = search(ours, NULL, name);
	if (!found)
		found = search(first, ours, name);
	if (found && start && hwr_module_at((u64)found, &module)) {
		*start = module.start;
		*end = module.end;
	}
	return found;
}

void *hwr_real_keep(void **real, const char *name)
{
	void *found = hwr_real_symbol(name, NULL, NULL);

	store_relaxed(real, found); /* every thread finds the same */
	return found;
}

bool hwr_real_comes_from(const char *name, const char *library)
{
	const struct link_map *map = hwr_first_map();

	for (; map && !hwr_map_has_us(map); map = map->l_next)
		if (find_in(map, name))
			return false; /* ours is not the one that is called */
	for (; map; map = map->l_next)
		if (!hwr_map_has_us(map) && find_in(map, name))
			return hwr_is_library(map->l_name, library);
	return false;
}

/* The C library's allocator where it cannot be looked up. */
#ifdef HWR_LINKED

static int static_posix_memalign(void **result, size_t alignment, size_t size);

/* These two have no such name. */
#define __libc_aligned_alloc __libc_memalign
#define __libc_posix_memalign static_posix_memalign

#define DECLARE(result, name, parameters, ...) extern result __libc_##name parameters;
HW_FAMILY(DECLARE, DECLARE, HW_NO_ROW)

static int static_posix_memalign(void **result, size_t alignment, size_t size)
{
	int kept = errno;
	void *p;

	if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1))
		return EINVAL;
	p = __libc_memalign(alignment, size);
	errno = kept;
	if (!p)
		return ENOMEM;
	*result = p;
	return 0;
}

static void find_static(struct hwr_real *real)
{
	if (!hwr_is_static())
		return;
	*real = (struct hwr_real){
#define STATIC(result, name, ...) .name = __libc_##name,
		HW_FAMILY(STATIC, STATIC, HW_NO_ROW)};
}

#else

static void find_static(struct hwr_real *real) { (void)real; }

#endif

void hwr_real_find(void)
{
	struct hwr_real found = {
#define FOUND(result, name, ...) .name = hwr_real_symbol(#name, NULL, NULL),
		HW_FAMILY(FOUND, FOUND, HW_NO_ROW)};

	find_static(&found);
	hwr_access_allocator(&found);
	hwr_real = found; /* every thread finds the same */
}
