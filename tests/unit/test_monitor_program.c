/* SPDX-License-Identifier: MIT
 * What can be run and recorded, what is refused and in which words; names of language runtimes. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/io.h"
#include "format/arch/arch.h"
#include "lib/test.h"
#include "live/program/hint.h"
#include "live/launch/launch.h"
#include "live/record/process.h"
#include "live/program/program.h"
#include "live/launch/run.h"

static const char *file_make(const char *name, const void *bytes, u64 count, mode_t mode)
{
	static char path[512];
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	if (io_write_file(path, bytes, count, &err) < 0)
		FAIL("%s", err.text);
	chmod(path, mode);
	return path;
}

static const char *text_make(const char *name, const char *text, mode_t mode)
{
	return file_make(name, text, strlen(text), mode);
}

/* An ELF header with one program header of the given type. */
static const char *elf_make(const char *name, u32 machine, u32 segment, mode_t mode)
{
	struct { Elf64_Ehdr header; Elf64_Phdr segment; } file = { 0 };

	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_machine = (Elf64_Half)machine;
	file.header.e_phentsize = sizeof(Elf64_Phdr);
	file.header.e_phnum = 1;
	file.header.e_phoff = sizeof(Elf64_Ehdr);
	file.segment.p_type = segment;
	return file_make(name, &file, sizeof(file), mode);
}

static void check_error(const char *name, const char *want)
{
	struct program program;
	struct err err = { 0 };

	CHECK_EQ(program_find(&program, name, &err), ERR_INPUT);
	if (!CHECK(strstr(err.text, want) != NULL))
		fprintf(stderr, "# %s\n", err.text);
}

TEST(not_found, "missing and unfit programs are refused with a sentence")
{
	check_error("no-such-program-anywhere", "cannot find program 'no-such-program-anywhere'");
	check_error("/no/such/file", "cannot find program '/no/such/file'");
	check_error("", "empty");
	check_error(test_folder(), "folder");
	check_error(text_make("data", "hello", 0644), "not executable");
}

TEST(path, "a program is found in PATH, one that may not be executed is passed over")
{
	struct program program;
	struct err err = { 0 };
	char path[1200], second[512];

	snprintf(second, sizeof(second), "%s/b", test_folder());
	mkdir(second, 0755);
	text_make("tool", "#!/bin/sh\n", 0644);
	snprintf(path, sizeof(path), "%s:%s", test_folder(), second);
	setenv("PATH", path, 1);
	check_error("tool", "not executable");
	text_make("b/tool", "#!/bin/sh\n", 0755);
	CHECK_EQ(program_find(&program, "tool", &err), 0);
	snprintf(path, sizeof(path), "%s/tool", second);
	CHECK_STR(program.path, path);
}

static enum program_obstacle obstacle_of(const char *path)
{
	struct program program;
	struct err err = { 0 };

	if (program_find(&program, path, &err) < 0)
		FAIL("%s", err.text);
	return program.obstacle;
}

TEST(obstacles, "static programs and those of other machines are recognised")
{
	char script[600];

	CHECK_EQ(obstacle_of("/bin/sh"), PROGRAM_RECORDABLE);
	CHECK_EQ(obstacle_of(elf_make("dynamic", HW_MACHINE, PT_INTERP, 0755)),
		 PROGRAM_RECORDABLE);
	CHECK_EQ(obstacle_of(elf_make("ld-x.so.2", HW_MACHINE, PT_LOAD, 0755)),
		 PROGRAM_RECORDABLE);
	CHECK_EQ(obstacle_of(elf_make("other", EM_S390, PT_INTERP, 0755)), PROGRAM_OTHER_MACHINE);
	CHECK_EQ(obstacle_of(elf_make("static", HW_MACHINE, PT_LOAD, 0755)), PROGRAM_STATIC);
	snprintf(script, sizeof(script), "#! %s/static -x\n", test_folder());
	CHECK_EQ(obstacle_of(text_make("script", script, 0755)), PROGRAM_STATIC);
	CHECK_EQ(obstacle_of(text_make("noline", "echo hello\n", 0755)), PROGRAM_RECORDABLE);
	snprintf(script, sizeof(script), "#!%s/loop\n", test_folder());
	CHECK_EQ(obstacle_of(text_make("loop", script, 0755)), PROGRAM_RECORDABLE);
}

TEST(setuid, "a program with other rights is recognised where the disk allows such")
{
	const char *path = elf_make("setuid", HW_MACHINE, PT_INTERP, 0755);

	if (chown(path, 12345, (gid_t)-1) < 0 || chmod(path, 04755) < 0)
		test_skip("only root can make such a file");
	CHECK_EQ(obstacle_of(path), PROGRAM_SETUID);
}

TEST(refusal, "a refusal names the program, the reason and the way out")
{
	const char *path = elf_make("static", HW_MACHINE, PT_LOAD, 0755);
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	struct run_options options = { .argv = argv };
	struct run_result result;
	struct err err = { 0 };

	CHECK_EQ(monitor_run(&options, &result, &err), ERR_INPUT);
	CHECK(strstr(err.text, path) && strstr(err.text, "statically linked") &&
	      strstr(err.text, "--unprofiled"));
}

TEST(unwritable, "an unwritable output is an error, and the program does not run")
{
	char touched[600], shell[] = "/bin/sh", option[] = "-c", command[700];
	char *argv[] = { shell, option, command, NULL };
	struct run_options options = { .argv = argv, .output.path = "/no/such/folder/x.hwt" };
	struct run_result result;
	struct err err = { 0 };

	snprintf(touched, sizeof(touched), "%s/touched", test_folder());
	snprintf(command, sizeof(command), "echo > %s", touched);
	options.start.recorder = text_make("recorder.so", "any file will do", 0644);
	CHECK(monitor_run(&options, &result, &err) < 0);
	CHECK(strstr(err.text, "/no/such/folder/x.hwt") != NULL);
	usleep(100000);
	CHECK(access(touched, F_OK) < 0);
}

static const struct { const char *path; enum runtime runtime;
} runtimes[] = {
	{"/usr/bin/python3.11", RUNTIME_PYTHON},
	{"/usr/bin/python3", RUNTIME_PYTHON},
	{"/usr/lib/libpython3.11.so.1.0", RUNTIME_PYTHON},
	{"/usr/bin/python3-config", RUNTIME_NONE},
	{"/usr/lib/jvm/lib/server/libjvm.so", RUNTIME_JVM},
	{"node", RUNTIME_V8},
	{"/usr/bin/nodeshell", RUNTIME_NONE},
	{"/lib/libnode.so.108", RUNTIME_V8},
	{"/usr/bin/php8.2", RUNTIME_PHP},
	{"/usr/bin/sqlite3", RUNTIME_NONE},
	{"", RUNTIME_NONE},
};

TEST(hints, "runtimes are recognised by file name, and each has its hint")
{
	for (u64 i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		enum runtime runtime = runtime_of_module(runtimes[i].path);

		if (!CHECK_EQ(runtime, runtimes[i].runtime))
			fprintf(stderr, "# %s\n", runtimes[i].path);
		CHECK_EQ(runtime_hint(runtime)[0] != 0, runtime != RUNTIME_NONE);
	}
	CHECK_EQ(runtime_of_program("/bin/sh"), RUNTIME_NONE);
	CHECK_EQ(runtime_of_program("/no/such/file"), RUNTIME_NONE);
}

static const struct { const char *argument, *quoted;
} quotes[] = {
	{"plain-1.0/x", "plain-1.0/x"}, {"", "''"},           {"a b", "'a b'"},
	{"it's", "'it'\\''s'"},         {"$HOME", "'$HOME'"}, {"a\nb", "'a\nb'"},
};

TEST(quoting, "a command line is quoted so that a shell takes it back")
{
	for (u64 i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
		struct strbuf text = { 0 };

		process_quote(&text, quotes[i].argument);
		CHECK_STR(strbuf_text(&text), quotes[i].quoted);
		strbuf_release(&text);
	}
}

TEST(killed_at_gate, "a program that is killed before it begins has ended by that signal, and is not started again")
{
	char path[] = "/bin/true";
	char *const argv[] = { path, NULL };
	struct launch_signals signals = { 0 };
	struct launch launch = { .path = path, .argv = argv, .signals = &signals };
	struct err err = { 0 };
	siginfo_t info;
	int status = 0;

	launch_signals_take(&signals);
	CHECK_EQ(launch_fork(&launch, &err), 0);
	kill(launch.pid, SIGKILL);
	CHECK_EQ(waitid(P_PID, (id_t)launch.pid, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(launch_go(&launch, &err), 0);
	CHECK_EQ(waitpid(launch.pid, &status, 0), launch.pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	launch_signals_restore(&signals);
}
