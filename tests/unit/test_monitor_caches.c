/* SPDX-License-Identifier: MIT
 * glibc's caches of threads: memory of our own that is made as each version makes it, or that is damaged. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "lib/test.h"
#include "live/scan/arch/arch.h"
#include "live/scan/tcache.h"

enum { HEAP_BYTES = 32 << 20, DATA_BYTES = 1 << 16, THREADS = 2, OTHERS = 20, OTHER_BYTES = 384, FILL = 16, HEAD = 8, PAGE = 4096 };

struct version {
	u64 bytes; /* of the block that holds the cache */
	u32 bins, count_bytes;
	bool counts_room, plain;
};

static const struct version versions[] = {
	{0x250, 64, 1, false, true},  /* 2.26 */
	{0x290, 64, 2, false, true},  /* 2.30 */
	{0x290, 64, 2, false, false}, /* 2.32 */
	{0x2a0, 64, 2, false, false}, /* the rest was too small for a block */
	{0x300, 76, 2, true, false},  /* 2.42 */
	{0x310, 76, 2, true, false},
};

struct forged {
	const struct version *version;
	u8 *heap, *data;
	u64 end; /* of what is used of the heap */
	struct tcache_thread threads[THREADS + OTHERS];
	u32 count; /* of threads */
	u64 hole;  /* a page that is not there, in the midst of a mapping; 0 = none */
	u64 caches[THREADS];
	u64 blocks, bytes;
};

static u32 calls; /* of the system call that reads */

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote, unsigned long remotes,
			 unsigned long flags)
{
	calls++;
	return syscall(SYS_process_vm_readv, pid, local, locals, remote, remotes, flags);
}

static u64 *word_at(u64 address) { return (u64 *)(uintptr_t)address; }

/* A thread's pointer to its cache. */
static u64 pointer_of(const struct forged *f, u32 thread)
{
	return f->threads[thread].thread_pointer + (u64)(SCAN_TLS_ABOVE ? 256 : -256);
}

static u64 block_new(struct forged *f, u64 bytes)
{
	u64 address = f->end;

	if (address + bytes > (u64)(uintptr_t)f->heap + HEAP_BYTES)
		FAIL("the heap is full");
	*word_at(address - HEAD) = bytes | 1;
	f->end += bytes;
	return address;
}

static u64 *first_of(const struct forged *f, u32 thread, u32 bin)
{
	return word_at(f->caches[thread] + f->version->bins * f->version->count_bytes) + bin;
}

static void count_add(const struct forged *f, u32 thread, u32 bin, int more)
{
	u8 *byte = (u8 *)word_at(f->caches[thread]) + bin * f->version->count_bytes;
	u16 wide;

	if (f->version->count_bytes == 1) {
		*byte = (u8)(*byte + more);
		return;
	}
	memcpy(&wide, byte, sizeof wide);
	wide = (u16)(f->version->counts_room ? wide - more : wide + more);
	memcpy(byte, &wide, sizeof wide);
}

static void link_to(const struct forged *f, u64 block, u64 next)
{
	*word_at(block) = f->version->plain ? next : next ^ block >> 12;
}

static u64 put(struct forged *f, u32 thread, u32 bin)
{
	u64 bytes = bin < 64 ? 32 + 16 * bin : (1024ull << (bin - 64)) + 48, block = block_new(f, bytes);

	link_to(f, block, *first_of(f, thread, bin));
	*first_of(f, thread, bin) = block;
	count_add(f, thread, bin, 1);
	f->blocks++;
	f->bytes += bytes;
	return block;
}

static struct forged forge(const struct version *version)
{
	struct forged f = {.version = version, .count = THREADS};

	f.heap = mmap(NULL, HEAP_BYTES + DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f.heap == MAP_FAILED)
		FAIL("no memory");
	f.data = f.heap + HEAP_BYTES;
	f.end = (u64)(uintptr_t)f.heap + 32;
	for (u32 i = 0; i < THREADS; i++) {
		f.threads[i] = (struct tcache_thread){(u64)(uintptr_t)f.data + DATA_BYTES / 4 * (i + 1), (u32)gettid()};
		f.caches[i] = block_new(&f, version->bytes);
		for (u32 bin = 0; version->counts_room && bin < version->bins; bin++)
			count_add(&f, i, bin, -FILL);
		*word_at(pointer_of(&f, i)) = f.caches[i];
	}
	return f;
}

/* More threads, whose data is apart, and comes first. */
static void others(struct forged *f, u32 tid)
{
	mprotect(f->data + 2 * PAGE, PAGE, PROT_NONE);
	for (; f->count < THREADS + OTHERS; f->count++)
		f->threads[f->count] = (struct tcache_thread){(u64)(uintptr_t)f->data + OTHER_BYTES * (f->count - THREADS + 1), tid};
}

static struct tcaches look(struct forged *f)
{
	struct scan_memory memory = SCAN_MEMORY_CLOSED;
	struct tcache_thread threads[THREADS + OTHERS];
	struct tcaches found = {0};
	struct err err = {0};

	memcpy(threads, f->threads, sizeof threads);
	if (scan_memory_open(&memory, (u32)getpid(), (u32)getpid(), NULL, &err) < 0)
		FAIL("%s", err.text);
	for (u64 i = 0; i < memory.mappings.count && f->hole; i++) {
		struct mapping *mapping = &memory.mappings.data[i];

		if (!SCAN_TLS_ABOVE && mapping->start == f->hole + PAGE)
			mapping->start = f->hole;
		if (SCAN_TLS_ABOVE && mapping->end == f->hole)
			mapping->end += PAGE;
	}
	CHECK(tcaches_read(&found, &memory, threads, f->count));
	scan_memory_close(&memory);
	for (u64 i = 1; i < found.blocks.count; i++)
		CHECK(found.blocks.data[i - 1].address + found.blocks.data[i - 1].bytes <= found.blocks.data[i].address);
	return found;
}

static void forget(struct forged *f, struct tcaches *found)
{
	tcaches_release(found);
	munmap(f->heap, HEAP_BYTES + DATA_BYTES);
}

TEST(versions, "each version's caches are read whole")
{
	for (u32 i = 0; i < sizeof versions / sizeof *versions; i++) {
		struct forged f = forge(&versions[i]);
		struct tcaches found;
		u64 bytes = 0;

		for (u32 k = 0; k < 7; k++)
			for (u32 bin = 0; bin < versions[i].bins; bin += k + 1)
				put(&f, bin % THREADS, bin);
		found = look(&f);
		if (found.read != THREADS || found.unread)
			FAIL("row %u: %u read, %u not", i, found.read, found.unread);
		CHECK_EQ(found.blocks.count, f.blocks);
		for (u64 k = 0; k < found.blocks.count; k++)
			bytes += found.blocks.data[k].bytes;
		CHECK_EQ(bytes, f.bytes);
		forget(&f, &found);
	}
}

TEST(large, "a large bin has sizes up to the next power of two, and blocks that are mapped alone")
{
	static const struct {
		u32 bin;
		u64 head; /* bits and bytes that the block has instead */
		u32 read;
	} cases[] = {{64, 0x420 | 1, 2}, {64, 0x7f0 | 5, 2}, {64, 0x800 | 1, 1}, {64, 0x410 | 1, 1},    {65, 0x800 | 1, 2},    {65, 0x7f0 | 1, 1},
		     {66, 0x1008, 1},    {66, 0x1010 | 2, 2}, {72, 0x43ff0 | 2, 2}, {75, 0x3ffff0 | 1, 2}, {75, 0x400000 | 1, 1}, {5, 112 | 2, 1}};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct forged f = forge(&versions[4]);
		struct tcaches found;

		put(&f, 0, 0);
		*word_at(put(&f, 1, cases[i].bin) - HEAD) = cases[i].head;
		found = look(&f);
		if (found.read != cases[i].read)
			FAIL("row %u: %u read", i, found.read);
		CHECK_EQ(found.blocks.count, cases[i].read);
		forget(&f, &found);
	}
}

/* A page of a file that is called as the C library, which the pointers of both threads lead into. */
static u8 *constant_of(struct forged *f)
{
	char path[] = "/tmp/heapwise-XXXXXX", file[64];
	int fd;
	u8 *page;

	if (!mkdtemp(path) || snprintf(file, sizeof file, "%s/libc.so.6", path) < 0 || (fd = open(file, O_RDWR | O_CREAT, 0600)) < 0 ||
	    ftruncate(fd, PAGE) < 0)
		FAIL("no file");
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		FAIL("no memory");
	close(fd);
	unlink(file);
	rmdir(path);
	for (u32 i = 0; i < THREADS; i++)
		*word_at(pointer_of(f, i)) = (u64)(uintptr_t)page + 64 + 8 * i; /* not yet; never again */
	return page;
}

TEST(none, "threads of which none has a cache yet are known to have none by what the library has in its place")
{
	static const struct {
		u32 at; /* the byte of the page that is not 0 */
		bool writable;
		u32 read;
	} cases[] = {{0, false, 2}, {64 + 8 + 760, false, 2}, {64 + 8, false, 0}, {64 + 759, false, 0}, {0, true, 0}};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct forged f = forge(&versions[4]);
		u8 *page = constant_of(&f);
		struct tcaches found;

		page[cases[i].at] = 1;
		if (!cases[i].writable)
			mprotect(page, PAGE, PROT_READ);
		found = look(&f);
		if (found.read != cases[i].read || found.unread != THREADS - cases[i].read || found.blocks.count)
			FAIL("row %u: %u read, %u not", i, found.read, found.unread);
		tcaches_release(&found);
		put(&f, 1, 3);
		*word_at(pointer_of(&f, 1)) = f.caches[1];
		found = look(&f);
		CHECK_EQ(found.read, cases[i].writable ? 1 : 2); /* what a thread has counts more */
		CHECK_EQ(found.blocks.count, 1);
		munmap(page, PAGE);
		forget(&f, &found);
	}
}

TEST(threads, "a thread without a cache has none, one that is gone does not count, memory that is gone is not read")
{
	struct forged f = forge(&versions[2]);
	struct tcaches found;

	put(&f, 0, 5);
	*word_at(pointer_of(&f, 1)) = 0;
	found = look(&f);
	CHECK_EQ(found.read, 2);
	CHECK_EQ(found.blocks.count, 1);
	tcaches_release(&found);
	f.threads[1].thread_pointer = f.threads[0].thread_pointer; /* handed on by one that has ended */
	f.threads[1].tid = UINT32_MAX >> 1;
	found = look(&f);
	CHECK_EQ(found.read, 1);
	CHECK_EQ(found.blocks.count, 1);
	CHECK_EQ(found.blocks.data[0].tid, (u32)gettid());
	tcaches_release(&found);
	f.threads[1].thread_pointer = 4096;
	found = look(&f);
	CHECK_EQ(found.read, 1);
	CHECK_EQ(found.unread, 0); /* it has ended */
	tcaches_release(&found);
	f.threads[1].tid = f.threads[0].tid;
	found = look(&f);
	CHECK_EQ(found.unread, 1);
	forget(&f, &found);
}

TEST(ended, "threads that have ended do not count, and do not hide the others")
{
	struct forged f = forge(&versions[2]);
	struct tcaches found;

	others(&f, UINT32_MAX >> 1);
	put(&f, 0, 5);
	put(&f, 1, 7);
	found = look(&f);
	CHECK_EQ(found.read, THREADS);
	CHECK_EQ(found.unread, 0);
	CHECK_EQ(found.blocks.count, 2);
	tcaches_release(&found);
	for (u32 i = 0; i < f.count; i++)
		f.threads[i].tid = UINT32_MAX >> 1; /* as those of another namespace seem */
	f.count = THREADS;
	found = look(&f);
	CHECK_EQ(found.read, THREADS);
	CHECK_EQ(found.blocks.count, 2);
	forget(&f, &found);
}

/* Those of which nothing is cached look like any block of zeros. */
TEST(uncertain, "a thread with blocks in its cache tells where all have it, however many have none")
{
	struct forged f = forge(&versions[2]);
	u64 zeros = block_new(&f, versions[2].bytes), empty = block_new(&f, versions[2].bytes);
	struct tcaches found;

	others(&f, (u32)gettid());
	for (u32 i = THREADS; i < f.count; i++) {
		*word_at(f.threads[i].thread_pointer + (u64)(SCAN_TLS_ABOVE ? 8 : -8)) = zeros;
		*word_at(pointer_of(&f, i)) = empty;
	}
	put(&f, 0, 5);
	put(&f, 1, 7);
	found = look(&f);
	CHECK_EQ(found.read, f.count);
	CHECK_EQ(found.blocks.count, 2);
	forget(&f, &found);
}

TEST(hole, "a page that cannot be read among a thread's data does not hide the rest")
{
	struct forged f = forge(&versions[2]);
	struct tcaches found;

	f.count = 1;
	f.hole = f.threads[0].thread_pointer + (u64)(SCAN_TLS_ABOVE ? 2 * PAGE : -2 * PAGE);
	munmap(word_at(f.hole), PAGE);
	put(&f, 0, 5);
	found = look(&f);
	CHECK_EQ(found.read, 1);
	CHECK_EQ(found.blocks.count, 1);
	forget(&f, &found);
}

enum damage { LOOP, SELF, WILD, UNALIGNED, NOWHERE, SIZE, MAPPED, LONGER, SHORTER, HUGE_COUNT, NO_STRUCT, TEXT, DAMAGES };

static void damage(struct forged *f, enum damage what, u64 last, u64 block)
{
	switch (what) {
	case LOOP: link_to(f, last, block); break;
	case SELF: link_to(f, last, last); break;
	case WILD: link_to(f, block, 0xdeadbeefdeadbee0); break;
	case UNALIGNED: link_to(f, block, block + 8); break;
	case NOWHERE: link_to(f, block, (u64)(uintptr_t)f->heap + HEAP_BYTES + DATA_BYTES - 16); break;
	case SIZE: *word_at(block - HEAD) += 16; break;
	case MAPPED: *word_at(block - HEAD) |= 2; break;
	case LONGER: count_add(f, 1, 5, -1); break;
	case SHORTER: count_add(f, 1, 5, 1); break;
	case HUGE_COUNT: link_to(f, last, block), count_add(f, 1, 5, 32000); break;
	case NO_STRUCT: *word_at(f->caches[1] - HEAD) = 0x281; break;
	case TEXT: memset(word_at(f->caches[1]), 'x', 512); break;
	case DAMAGES: break;
	}
}

TEST(damage, "a cache with a list that is not whole is not read, others are")
{
	for (u32 i = 0; i < sizeof versions / sizeof *versions; i++)
		for (u32 what = 0; what < DAMAGES; what++) {
			struct forged f = forge(&versions[i]);
			struct tcaches found;
			u64 last, block;

			put(&f, 0, 0);
			put(&f, 1, 7);
			last = put(&f, 1, 5);
			put(&f, 1, 5);
			block = put(&f, 1, 5);
			damage(&f, what, last, block);
			found = look(&f);
			if (found.read != 1 || found.unread != 1 || found.blocks.count != 1)
				FAIL("version %u, damage %u: %u read, %u not, %u blocks", i, what, found.read, found.unread,
				     (u32)found.blocks.count);
			forget(&f, &found);
		}
}

/* Data that points to many caches, each of which is one long loop. */
TEST(bounds, "whatever is there, no more is read than the bounds say")
{
	struct forged f = forge(&versions[4]);
	u64 block = put(&f, 0, 0), began = now_ns();
	struct tcaches found;

	link_to(&f, block, block);
	for (u64 i = 0; i < DATA_BYTES; i += 8)
		*word_at((u64)(uintptr_t)f.data + i) = f.caches[0];
	found = look(&f);
	CHECK_EQ(found.read, 0);
	CHECK_EQ(found.blocks.count, 0);
	CHECK(now_ns() - began < 60 * 1000000000ull); /* a second where nothing is emulated */
	forget(&f, &found);
}

TEST(steps, "all lists of a cache are followed together")
{
	struct forged f = forge(&versions[2]);
	struct tcaches found;
	u32 before;

	for (u32 k = 0; k < 7 * 64; k++)
		put(&f, 1, k % 64);
	put(&f, 0, 0);
	before = calls;
	found = look(&f);
	CHECK_EQ(found.blocks.count, f.blocks);
	CHECK(calls - before < 30);
	forget(&f, &found);
}

TEST(full, "beyond the limit a thread costs nothing")
{
	struct forged f = forge(&versions[2]);
	u32 cost[2], read = TCACHE_BLOCKS_MAX / 4800;
	struct tcaches found;

	for (u32 k = 0; k < 12 * 400; k++)
		put(&f, 0, k % 12);
	others(&f, (u32)gettid());
	for (u32 i = 1; i < f.count; i++)
		*word_at(pointer_of(&f, i)) = f.caches[0];
	for (u32 i = 0; i < 2; i++, f.count -= 4) {
		cost[i] = calls;
		found = look(&f);
		cost[i] = calls - cost[i];
		CHECK_EQ(found.read, read);
		CHECK_EQ(found.unread, f.count - read);
		CHECK_EQ(found.blocks.count, f.blocks); /* the same ones each time */
		tcaches_release(&found);
	}
	CHECK_EQ(cost[0], cost[1]);
	forget(&f, &found);
}

static u64 next(u64 *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return *random >> 24;
}

TEST(noise, "memory in which anything may have changed is read without harm")
{
	for (u64 seed = 1; seed <= 300; seed++) {
		struct forged f = forge(&versions[seed % (sizeof versions / sizeof *versions)]);
		u64 random = seed, start = (u64)(uintptr_t)f.heap, known = 0;
		struct tcaches found;

		for (u32 k = 0; k < 200; k++)
			put(&f, (u32)next(&random) % THREADS, (u32)next(&random) % 12);
		for (u64 k = next(&random) % 6; k; k--) {
			u64 *word = word_at(start + next(&random) % (f.end - start) / 8 * 8);
			u64 values[] = {0, UINT64_MAX, next(&random), start + next(&random) % HEAP_BYTES / 16 * 16, *word ^ 16};

			*word = values[next(&random) % 5];
		}
		found = look(&f);
		for (u64 k = 0; k < found.blocks.count; k++)
			known += found.blocks.data[k].address >= start && found.blocks.data[k].address < f.end;
		CHECK_EQ(known, found.blocks.count);
		CHECK_EQ(found.read + found.unread, THREADS);
		forget(&f, &found);
	}
}
