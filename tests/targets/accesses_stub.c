/* SPDX-License-Identifier: MIT
 * Stands in for the stub of `heapwise cc` and the recorder where there is no room for a whole shadow, as under qemu-user: maps the pages of the
 * shadow that are read, and no others; arms each chunk; prints at the end what was reported of them, as the test's accesses() does.
 * Link with -Wl,--wrap=malloc,--wrap=calloc. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHADOW 0x400000000000ull
enum { CHUNKS = 64, PAGE = 65536, ARMED = 0x80 };

static struct chunk {
	uint64_t address, size, times[2], bytes[2], low, high;
} chunks[CHUNKS];
static int count;

static void missing(int number, siginfo_t *info, void *context)
{
	uint64_t at = (uint64_t)info->si_addr & ~(uint64_t)(PAGE - 1);

	(void)number;
	(void)context;
	if (at - SHADOW >= 1ull << 45 ||
	    mmap((void *)at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)at)
		_exit(3); /* not the shadow: of another address than the pointer's */
}

static void begin(void)
{
	struct sigaction action = {.sa_sigaction = missing, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSEGV, &action, NULL);
}
static void (*const first_of_all)(void) __attribute__((section(".preinit_array"), used)) = begin;

void *__real_malloc(size_t size);
void *__real_calloc(size_t members, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t members, size_t size);

static void *arm(void *p, size_t size)
{
	if (count == CHUNKS)
		return p;
	chunks[count++] = (struct chunk){.address = (uint64_t)p, .size = size, .low = ~0ull};
	memset((void *)(SHADOW + ((uint64_t)p >> 3)), ARMED, (size + 7) / 8);
	return p;
}

void *__wrap_malloc(size_t size) { return arm(__real_malloc(size), size); }
void *__wrap_calloc(size_t members, size_t size) { return arm(__real_calloc(members, size), members * size); }

static void report(uint64_t address, uint64_t bytes, int write)
{
	address = address << 8 >> 8;
	for (int i = 0; i < count; i++) {
		struct chunk *chunk = &chunks[i];
		uint64_t offset = address - chunk->address;

		if (offset >= chunk->size)
			continue;
		chunk->times[write]++;
		chunk->bytes[write] += bytes;
		chunk->low = offset < chunk->low ? offset : chunk->low;
		chunk->high = offset + bytes > chunk->high ? offset + bytes : chunk->high;
	}
}

#define DEFINE_REPORT(name, bytes, write)                                                          \
	void __asan_report_##name##_noabort(uint64_t address);                                     \
	void __asan_report_##name##_noabort(uint64_t address) { report(address, bytes, write); }
DEFINE_REPORT(load1, 1, 0)
DEFINE_REPORT(load2, 2, 0)
DEFINE_REPORT(load4, 4, 0)
DEFINE_REPORT(load8, 8, 0)
DEFINE_REPORT(load16, 16, 0)
DEFINE_REPORT(store1, 1, 1)
DEFINE_REPORT(store2, 2, 1)
DEFINE_REPORT(store4, 4, 1)
DEFINE_REPORT(store8, 8, 1)
DEFINE_REPORT(store16, 16, 1)

void __asan_report_load_n_noabort(uint64_t address, uint64_t bytes);
void __asan_report_load_n_noabort(uint64_t address, uint64_t bytes) { report(address, bytes, 0); }
void __asan_report_store_n_noabort(uint64_t address, uint64_t bytes);
void __asan_report_store_n_noabort(uint64_t address, uint64_t bytes) { report(address, bytes, 1); }
void __asan_handle_no_return(void);
void __asan_handle_no_return(void) {}

static __attribute__((destructor)) void end(void)
{
	for (int i = 0; i < count; i++)
		fprintf(stderr, "%llu %llu %llu %llu %llu %llu %llu -\n", (unsigned long long)chunks[i].size, (unsigned long long)chunks[i].times[0],
			(unsigned long long)chunks[i].times[1], (unsigned long long)chunks[i].bytes[0], (unsigned long long)chunks[i].bytes[1],
			(unsigned long long)chunks[i].low, (unsigned long long)chunks[i].high);
}
