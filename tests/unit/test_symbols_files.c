/* SPDX-License-Identifier: MIT
 * Where symbols and debug info are found: beside the module, by build-id, by debuglink, in .dwo
 * files, in dwz's common files, in minidebuginfo, in the kernel's module; and where not. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "host/symbols/perfmap.h"
#include "symbols_tools.h"

struct build_id {
	u8 bytes[64];
	u32 count;
	char hex[160]; /* xx/yyyy… as folders of debug files use it */
};

static struct build_id build_id_of(const char *path)
{
	struct build_id id = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const void *bits;
	ssize_t count;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	count = dwelf_elf_gnu_build_id(elf, &bits);
	if (count < 2 || count > 64)
		FAIL("%s has no build-id", path);
	memcpy(id.bytes, bits, (size_t)count);
	id.count = (u32)count;
	for (ssize_t i = 0, at = 0; i < count; i++)
		at += sprintf(id.hex + at, i == 1 ? "/%02x" : "%02x", id.bytes[i]);
	elf_end(elf);
	close(fd);
	return id;
}

/* A program with debug info and what is known of it. */
struct whole {
	struct addresses addresses;
	struct asked asked;
	struct build_id id;
};

static struct whole build_whole(const char *flags)
{
	struct whole whole;

	MUST("gcc -O2 -g -Wl,--build-id %s -o whole " TARGETS "/symbols_plain.c", flags);
	whole.addresses = code_addresses(in_folder("whole"), 2);
	whole.asked = ask_file(in_folder("whole"), &whole.addresses);
	whole.id = build_id_of(in_folder("whole"));
	CHECK_EQ(whole.asked.state, SYMBOLIZER_DEBUG);
	return whole;
}

static void whole_release(struct whole *whole)
{
	asked_release(&whole->asked);
	vec_release(&whole->addresses);
}

static void strip_whole(const struct whole *whole)
{
	MUST("mkdir -p debug/.build-id/%.2s"
	     " && objcopy --only-keep-debug whole debug/.build-id/%s.debug"
	     " && strip -o stripped whole",
	     whole->id.hex, whole->id.hex);
}

/* Everything that the whole program knows must be found by the other way, too. */
static void check_like_whole(const struct whole *whole, const struct symbolizer_module *module,
			     const struct symbolizer_options *options)
{
	struct asked asked = ask(module, &whole->addresses, options);

	CHECK_EQ(asked.state, SYMBOLIZER_DEBUG);
	check_same(&whole->addresses, &asked, &whole->asked);
	asked_release(&asked);
}

TEST(separate_by_build_id, "a stripped program finds its debug file by build-id in debug_path")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("stripped") };
	struct symbolizer_options options = { .debug_path = in_folder("debug") };
	struct asked bare;

	strip_whole(&whole);
	check_like_whole(&whole, &module, &options);
	bare = ask(&module, &whole.addresses, NULL);
	CHECK_EQ(bare.state, SYMBOLIZER_STRIPPED);
	asked_release(&bare);
	whole_release(&whole);
}

TEST(relative_path, "folders of debug_path that are relative are below the current one")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("elsewhere/stripped") };
	struct symbolizer_options options = { .debug_path = "nothing::../debug" };

	strip_whole(&whole);
	MUST("mkdir elsewhere here && mv stripped elsewhere");
	CHECK_EQ(chdir(in_folder("here")), 0);
	check_like_whole(&whole, &module, &options);
	whole_release(&whole);
}

/* The debug file is compressed, and large enough for a copy. */
static void compress_whole(const struct whole *whole)
{
	strip_whole(whole);
	MUST("cd debug/.build-id && head -c 2000000 /dev/zero >pad && objcopy --add-section .debug_pad=pad %s.debug"
	     " && objcopy --compress-debug-sections=zlib %s.debug",
	     whole->id.hex, whole->id.hex);
}

TEST(copies, "a compressed debug file is copied once, and read from the copy; a bad copy is made again")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("stripped") };
	struct symbolizer_options options = { .debug_path = in_folder("debug") };
	struct asked changed;
	bool found = false;

	compress_whole(&whole);
	setenv("XDG_CACHE_HOME", in_folder("cache"), 1);
	check_like_whole(&whole, &module, &options);
	MUST("test $(ls cache/heapwise/debug | wc -l) = 1");
	MUST("cp cache/heapwise/debug/* first && test $(stat -c %%s first) -gt 2000000");
	MUST("touch -d @1000 cache/heapwise/debug/*");
	check_like_whole(&whole, &module, &options);
	MUST("cmp first cache/heapwise/debug/*");
	MUST("test $(stat -c %%Y cache/heapwise/debug/*) -gt 1000"); /* it was used: the last to go */
	/* What the copy says counts. */
	MUST("sed -i s/sum_of_squares/sum_of_circles/ cache/heapwise/debug/*");
	changed = ask(&module, &whole.addresses, &options);
	for (u64 i = 0; i < whole.addresses.count; i++)
		for (u32 k = 0; k < changed.answers[i].frame_count; k++)
			found |= strcmp(changed.answers[i].frames[k].function, "sum_of_circles") == 0;
	CHECK(found);
	asked_release(&changed);
	MUST("truncate -s 100000 cache/heapwise/debug/*");
	check_like_whole(&whole, &module, &options);
	MUST("cmp first cache/heapwise/debug/*");
	whole_release(&whole);
}

TEST(no_copies, "copies that others could write are not believed, and without a folder there are none")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("stripped") };
	struct symbolizer_options options = { .debug_path = in_folder("debug") };

	compress_whole(&whole);
	setenv("XDG_CACHE_HOME", in_folder("cache"), 1);
	MUST("mkdir -p cache/heapwise/debug && chmod 777 cache/heapwise/debug");
	check_like_whole(&whole, &module, &options);
	MUST("test -z \"$(ls cache/heapwise/debug)\"");
	MUST("rm -r cache && echo >cache"); /* no folder */
	check_like_whole(&whole, &module, &options);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	check_like_whole(&whole, &module, &options);
	whole_release(&whole);
}

TEST(no_home, "copies are made below a home that exists; one that does not exist is not made")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("stripped") };
	struct symbolizer_options options = { .debug_path = in_folder("debug") };

	compress_whole(&whole);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", in_folder("absent"), 1);
	check_like_whole(&whole, &module, &options);
	setenv("XDG_CACHE_HOME", in_folder("absent/cache"), 1);
	check_like_whole(&whole, &module, &options);
	MUST("! test -e absent");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", test_folder(), 1);
	check_like_whole(&whole, &module, &options);
	MUST("test $(ls .cache/heapwise/debug | wc -l) = 1");
	whole_release(&whole);
}

TEST(old_copies, "copies that were not used for longest go when there are too many")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("stripped") };
	struct symbolizer_options options = { .debug_path = in_folder("debug") };

	compress_whole(&whole);
	setenv("XDG_CACHE_HOME", in_folder("cache"), 1);
	MUST("mkdir -p -m 700 cache/heapwise/debug && cd cache/heapwise/debug && truncate -s 300M old older"
	     " && touch -d @2000 old && touch -d @1000 older");
	check_like_whole(&whole, &module, &options);
	MUST("cd cache/heapwise/debug && test -e old && ! test -e older && test $(ls | wc -l) = 2");
	whole_release(&whole);
}

TEST(program_gone, "a program that is gone or was replaced is read from its debug file")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("gone"), .build_id = whole.id.bytes,
					    .build_id_bytes = whole.id.count };
	struct symbolizer_options options = { .debug_path = in_folder("debug") };

	strip_whole(&whole);
	check_like_whole(&whole, &module, &options);
	MUST("echo 'int main(void) { return 0; }' >other.c && gcc -Wl,--build-id -o gone other.c");
	check_like_whole(&whole, &module, &options);
	whole_release(&whole);
}

TEST(separate_by_link, "a stripped program finds its debug file by debuglink in .debug")
{
	struct whole whole = build_whole("");

	MUST("mkdir .debug && objcopy --only-keep-debug whole .debug/linked.debug"
	     " && strip -o linked whole && objcopy --add-gnu-debuglink=.debug/linked.debug linked");
	check_like_whole(&whole, &(struct symbolizer_module){ .path = in_folder("linked") }, NULL);
	whole_release(&whole);
}

TEST(split_dwarf, "debug info in .dwo files reads like debug info in the program")
{
	struct whole whole = build_whole("");

	MUST("gcc -O2 -g -gsplit-dwarf -o split " TARGETS "/symbols_plain.c"
	     " && test -n \"$(ls *.dwo)\"");
	check_like_whole(&whole, &(struct symbolizer_module){ .path = in_folder("split") }, NULL);
	MUST("rm -f *.dwo && gcc -O2 -gdwarf-4 -gsplit-dwarf -o split " TARGETS
	     "/symbols_plain.c && test -n \"$(ls *.dwo)\"");
	check_like_whole(&whole, &(struct symbolizer_module){ .path = in_folder("split") }, NULL);
	whole_release(&whole);
}

TEST(split_clang, "debug info of clang in .dwo files reads like debug info in the program")
{
	struct addresses addresses;
	struct asked one, split;

	need("clang++", "clang");
	MUST("clang++ -O2 -g -o one " TARGETS "/symbols_inline.cpp"
	     " && clang++ -O2 -g -gsplit-dwarf -o split " TARGETS "/symbols_inline.cpp");
	addresses = code_addresses(in_folder("one"), 11);
	one = ask_file(in_folder("one"), &addresses);
	split = ask_file(in_folder("split"), &addresses);
	check_same(&addresses, &split, &one);
	asked_release(&one);
	asked_release(&split);
	vec_release(&addresses);
}

TEST(dwz_common, "debug info that dwz moved into a common file is followed")
{
	struct whole whole;

	need("dwz", "dwz");
	whole = build_whole("-gdwarf-4");
	MUST("cp whole one && cp whole two && dwz -m common one two && test -s common");
	check_like_whole(&whole, &(struct symbolizer_module){ .path = in_folder("one") }, NULL);
	whole_release(&whole);
}

TEST(minidebuginfo, "local functions are named from .gnu_debugdata")
{
	struct code_symbols all;
	struct addresses addresses = { 0 };
	struct asked asked;

	need("xz", "xz-utils");
	MUST("gcc -O0 -o whole " TARGETS "/symbols_plain.c && strip -o mini whole"
	     " && objcopy -S --remove-section .comment --keep-symbol=list_push whole syms"
	     " && rm -f syms.xz && xz syms && objcopy --add-section .gnu_debugdata=syms.xz mini");
	all = code_symbols(in_folder("whole"), SHT_SYMTAB);
	for (u64 i = 0; i < all.count; i++)
		if (!strcmp(all.data[i].name, "list_push"))
			CHECK(vec_push(&addresses, all.data[i].start));
	CHECK_EQ(addresses.count, 1);
	asked = ask_file(in_folder("mini"), &addresses);
	CHECK_EQ(asked.state, SYMBOLIZER_SYMBOLS);
	CHECK_STR(asked.answers[0].frame_count ? asked.answers[0].frames[0].function : "",
		  "list_push");
	asked_release(&asked);
	vec_release(&addresses);
	vec_release(&all);
}

static bool names_symbol_at(const struct code_symbols *symbols, u64 address, const char *name)
{
	for (u64 i = 0; i < symbols->count; i++)
		if (address - symbols->data[i].start < symbols->data[i].bytes &&
		    !strcmp(symbols->data[i].name, name))
			return true;
	return false;
}

static bool covered(const struct code_symbols *symbols, u64 address)
{
	for (u64 i = 0; i < symbols->count; i++)
		if (address - symbols->data[i].start < symbols->data[i].bytes)
			return true;
	return false;
}

TEST(only_dynsym, "a stripped library names what it exports, and nothing else")
{
	struct code_symbols exported;
	struct addresses addresses;
	struct asked asked;
	u64 named = 0, unnamed = 0;

	MUST("gcc -O2 -shared -fPIC -o whole.so " TARGETS "/symbols_plain.c"
	     " && strip -o stripped.so whole.so");
	addresses = code_addresses(in_folder("whole.so"), 3);
	exported = code_symbols(in_folder("stripped.so"), SHT_DYNSYM);
	asked = ask_file(in_folder("stripped.so"), &addresses);
	CHECK_EQ(asked.state, SYMBOLIZER_STRIPPED);
	for (u64 i = 0; i < addresses.count; i++) {
		const struct symbolizer_answer *answer = &asked.answers[i];
		bool known = answer->frame_count && answer->frames[0].function[0];

		if (!covered(&exported, addresses.data[i])) {
			CHECK(!known);
			unnamed++;
			continue;
		}
		named++;
		CHECK(known && names_symbol_at(&exported, addresses.data[i],
					       answer->frames[0].function));
	}
	CHECK(named > 30);
	CHECK(unnamed > 10);
	asked_release(&asked);
	vec_release(&exported);
	vec_release(&addresses);
}

TEST(empty_export, "an exported function without size gives its name to no hidden neighbour")
{
	struct addresses addresses = { 0 };
	struct code_symbols exported;
	struct asked asked;

	MUST("printf '.text\\n.globl empty, known\\n.type empty, %%%%function\\n"
	     ".type known, %%%%function\\nempty:\\n.zero 64\\nknown:\\n.zero 64\\n.size known, 64\\n' >code.s"
	     " && gcc -shared -nostdlib -o whole.so code.s && strip -o code.so whole.so");
	exported = code_symbols(in_folder("code.so"), SHT_DYNSYM);
	CHECK_EQ(exported.count, 1);
	CHECK(vec_push(&addresses, exported.data[0].start - 32));
	CHECK(vec_push(&addresses, exported.data[0].start + 32));
	asked = ask_file(in_folder("code.so"), &addresses);
	CHECK_EQ(asked.answers[0].frame_count, 0);
	CHECK_STR(asked.answers[1].frame_count ? asked.answers[1].frames[0].function : "", "known");
	asked_release(&asked);
	vec_release(&exported);
	vec_release(&addresses);
}

TEST(full_symtab, "without debug info every function is named as in the symbol table")
{
	struct code_symbols all;
	struct addresses addresses;
	struct asked asked;

	MUST("gcc -O2 -o whole " TARGETS "/symbols_plain.c");
	addresses = code_addresses(in_folder("whole"), 3);
	all = code_symbols(in_folder("whole"), SHT_SYMTAB);
	asked = ask_file(in_folder("whole"), &addresses);
	CHECK_EQ(asked.state, SYMBOLIZER_SYMBOLS);
	for (u64 i = 0; i < addresses.count; i++)
		CHECK(asked.answers[i].frame_count == 1 &&
		      names_symbol_at(&all, addresses.data[i],
				      asked.answers[i].frames[0].function));
	asked_release(&asked);
	vec_release(&all);
	vec_release(&addresses);
}

/* objdump labels the stubs by reading their code. */
static void check_stubs(const char *flags)
{
	u64 stubs = 0;
	char line[512];
	FILE *file;

	MUST("gcc -O2 %s -o program " TARGETS "/symbols_plain.c"
	     " && objdump -d -j .plt -j .plt.sec program 2>/dev/null"
	     " | sed -n 's/^0*\\([0-9a-f]*\\) <\\(.*@plt\\)>:$/\\1 \\2/p' >stubs",
	     flags);
	file = fopen(in_folder("stubs"), "r");
	while (file && fgets(line, sizeof(line), file)) {
		char *name;
		u64 start = strtoull(line, &name, 16), middle = start + 4;
		struct addresses addresses = { .data = &middle, .count = 1 };
		struct asked asked = ask_file(in_folder("program"), &addresses);

		name[strcspn(name, "\n")] = 0;
		CHECK_STR(asked.answers[0].frame_count ? asked.answers[0].frames[0].function : "",
			  name + 1);
		asked_release(&asked);
		stubs++;
	}
	if (file)
		fclose(file);
	CHECK(stubs >= 5);
}

TEST(plt_stubs, "stubs of the procedure linkage table are named after their target")
{
	need("objdump", "binutils");
	check_stubs("-Wl,-z,lazy");
	if (!shell("gcc -fcf-protection -E -x c /dev/null >/dev/null 2>&1"))
		check_stubs("-Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt");
}

TEST(other_build_id, "a file with another build-id is not used")
{
	struct whole whole = build_whole("");
	struct symbolizer_module module = { .path = in_folder("whole"), .build_id = whole.id.bytes,
					    .build_id_bytes = whole.id.count };
	struct asked asked = ask(&module, &whole.addresses, NULL);

	CHECK_EQ(asked.state, SYMBOLIZER_DEBUG);
	asked_release(&asked);
	whole.id.bytes[3] ^= 1;
	asked = ask(&module, &whole.addresses, NULL);
	CHECK_EQ(asked.state, SYMBOLIZER_MISSING);
	for (u64 i = 0; i < whole.addresses.count; i++)
		CHECK_EQ(asked.answers[i].frame_count, 0);
	asked_release(&asked);
	module.build_id_bytes = 0;
	module.arch = EM_PPC64;
	asked = ask(&module, &whole.addresses, NULL);
	CHECK_EQ(asked.state, SYMBOLIZER_MISSING);
	asked_release(&asked);
	whole_release(&whole);
}

TEST(no_such_file, "pipes, folders, empty and foreign files count as missing, and nothing waits")
{
	static const char *const names[] = { "none",  "pipe", "folder",
					     "empty", "text", "object.o", "" };
	u64 address = 0x1000;
	struct addresses addresses = { .data = &address, .count = 1 };

	MUST("mkfifo pipe && mkdir folder && : >empty && echo text >text"
	     " && gcc -c -o object.o " TARGETS "/symbols_plain.c");
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct asked asked = ask_file(names[i][0] ? in_folder(names[i]) : "", &addresses);

		CHECK_EQ(asked.state, SYMBOLIZER_MISSING);
		CHECK_EQ(asked.answers[0].frame_count, 0);
		asked_release(&asked);
	}
}

/* The kernel's module of this process, by the dynamic symbols that it carries. */
TEST(vdso, "functions of the vdso are named, and only by its build-id")
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	struct symbolizer_module module = { .path = "linux-vdso.so.1" };
	struct addresses addresses = { 0 };
	const void *bits = NULL;
	struct asked asked;
	u64 named = 0;
	Elf *elf;

	if (!image)
		test_skip("this kernel maps no vdso");
	elf_version(EV_CURRENT);
	elf = elf_memory(image, header->e_shoff + (u64)header->e_shnum * header->e_shentsize);
	module.build_id_bytes = (u32)dwelf_elf_gnu_build_id(elf, &bits);
	module.build_id = bits;
	for (u64 at = 0; at < 0x3000; at += 16)
		if (!vec_push(&addresses, at))
			FAIL("no memory");
	asked = ask(&module, &addresses, NULL);
	for (u64 i = 0; i < addresses.count; i++)
		named += asked.answers[i].frame_count &&
			 strstr(asked.answers[i].frames[0].function, "gettime") != NULL;
	CHECK(named > 0);
	CHECK(asked.state != SYMBOLIZER_MISSING);
	asked_release(&asked);
	module.build_id_bytes = 0;
	asked = ask(&module, &addresses, NULL);
	CHECK_EQ(asked.state, SYMBOLIZER_MISSING);
	asked_release(&asked);
	elf_end(elf);
	vec_release(&addresses);
}

/* A server that answers nothing; whether somebody called it since the last question. */
static bool was_called(int server)
{
	struct pollfd wait = { .fd = server, .events = POLLIN };
	bool called = false;

	while (poll(&wait, 1, 0) == 1) {
		close(accept(server, NULL, NULL));
		called = true;
	}
	return called;
}

TEST(debuginfod, "debuginfod servers are asked if the environment names them, and never otherwise")
{
	static const u8 unknown[20] = { 1, 2, 3, 4, 5 };
	struct symbolizer_module module = { .path = in_folder("absent"), .build_id = unknown,
					    .build_id_bytes = sizeof(unknown) };
	struct sockaddr_in place = { .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(place);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	u64 address = 0x1000;
	struct addresses addresses = { .data = &address, .count = 1 };
	char url[64];

	if (!dlopen("libdebuginfod.so.1", RTLD_LAZY))
		test_skip("needs package libdebuginfod-dev");
	if (bind(server, (struct sockaddr *)&place, bytes) || listen(server, 5) ||
	    getsockname(server, (struct sockaddr *)&place, &bytes))
		FAIL("cannot listen");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(place.sin_port));
	setenv("DEBUGINFOD_CACHE_PATH", in_folder("cache"), 1);
	setenv("DEBUGINFOD_TIMEOUT", "1", 1);
	for (int round = 0; round < 4; round++) {
		static const char *const values[] = { NULL, "", "  ", "url" };
		struct asked asked;

		if (values[round])
			setenv("DEBUGINFOD_URLS", round == 3 ? url : values[round], 1);
		else
			unsetenv("DEBUGINFOD_URLS");
		asked = ask(&module, &addresses, NULL);
		CHECK_EQ(asked.state, SYMBOLIZER_MISSING);
		CHECK_EQ(was_called(server), round == 3);
		CHECK_EQ(access(in_folder("cache"), F_OK) == 0, round == 3);
		asked_release(&asked);
	}
	close(server);
}

/* The kernel gives files the time of its last tick: up to 10 ms before the write, and so before the start of who writes. */
TEST(map_of_a_young_process, "a map of generated code that was written in a process's first tick is its own, an old one is not")
{
	char path[PERF_MAP_PATH], name[PERF_MAP_PATH];
	struct timespec wall, since_boot;
	u64 start_ns;
	int fd;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &since_boot);
	start_ns = (u64)since_boot.tv_sec * 1000000000 + (u64)since_boot.tv_nsec;
	for (i64 before_ms = 10; before_ms <= 10000; before_ms += 9990) {
		i64 at = wall.tv_sec * 1000000000 + wall.tv_nsec - before_ms * 1000000;
		struct timespec times[2] = {{at / 1000000000, at % 1000000000}, {at / 1000000000, at % 1000000000}};

		CHECK(futimens(fd, times) == 0);
		CHECK_EQ(perf_map_find_file((u32)getpid(), start_ns, path), before_ms == 10);
	}
	close(fd);
	unlink(name);
}
