/* SPDX-License-Identifier: MIT
 * heapwise cc and heapwise c++: a compiler that instruments. Host. Runs the compiler of the system
 * in its own place with a few more arguments, and with the stub (target/access/shadow/stub.c) where
 * something is linked; everything else is the compiler's business, its exit status too. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/parts.h"
#include "host/base/vec.h"
#include "host/checks/checks.h"
#include "host/checks/plain.h"
#include "show/cli/command.h"
#include "format/arch/tag.h"
#include "format/shadow.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

typedef VEC(const char *) words;

/* ---- which compiler ---- */

enum family { FAMILY_GCC, FAMILY_CLANG };

struct compiler {
	char words[4096];                         /* the variable's text, cut into words by zeros */
	char name[1024];                          /* of the program: the last word */
	char stub[PARTS_PATH], plain[PARTS_PATH]; /* to be linked, too */
	enum family family;
};

/* gcc → g++, clang-14 → clang++-14, cc → c++; the folder stays. */
static void name_for_cxx(char *name, size_t room)
{
	static const char *const pairs[][2] = {{"clang", "clang++"}, {"gcc", "g++"}, {"cc", "c++"}};
	char *file = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

	if (strstr(file, "++"))
		return;
	for (u32 i = 0; i < 3; i++) {
		char *at = strstr(file, pairs[i][0]);
		char rest[256];

		if (!at)
			continue;
		snprintf(rest, sizeof(rest), "%s", at + strlen(pairs[i][0]));
		snprintf(at, room - (size_t)(at - name), "%s%s", pairs[i][1], rest);
		return;
	}
}

/* By its name, or, if that says nothing (cc), by the file behind it, or by what it says of
 * itself. */
static enum family family_of(const char *name)
{
	char command[4200], answer[256] = "";
	const char *file = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	FILE *output;

	if (strstr(file, "clang"))
		return FAMILY_CLANG;
	if (strstr(file, "gcc") || strstr(file, "g++") || strchr(name, '\''))
		return FAMILY_GCC;
	snprintf(command, sizeof(command), "'%s' --version 2>/dev/null", name);
	output = popen(command, "r");
	if (output) {
		if (!fgets(answer, sizeof(answer), output))
			answer[0] = 0;
		pclose(output);
	}
	return strstr(answer, "clang") ? FAMILY_CLANG : FAMILY_GCC;
}

/* HEAPWISE_CC, for C++ HEAPWISE_CXX or what goes with HEAPWISE_CC; it may have several words
 * ("ccache gcc"). Adds them to argv. */
static bool compiler_choose(struct compiler *self, bool cxx, words *argv)
{
	const char *own = cxx ? getenv("HEAPWISE_CXX") : NULL;
	const char *text = own && *own ? own : getenv("HEAPWISE_CC");
	char *state, *word, *last = NULL;

	snprintf(self->words, sizeof(self->words), "%s", text && *text ? text : "cc");
	for (word = strtok_r(self->words, " \t", &state); word;
	     word = strtok_r(NULL, " \t", &state)) {
		if (last && !vec_push(argv, last))
			return false;
		last = word;
	}
	snprintf(self->name, sizeof(self->name), "%s", last ? last : "cc");
	if (cxx)
		name_for_cxx(self->name, sizeof(self->name));
	if (!vec_push(argv, self->name))
		return false;
	self->family = family_of(self->name);
	return true;
}

/* ---- what is asked of it ---- */

struct request {
	bool links;   /* makes a program or a library */
	bool shared;  /* a library */
	bool foreign; /* for a machine that has no shadow */
	bool inputs;
	bool lto;                /* optimises again when it links */
	bool assembler;          /* has the programmer's own text for the assembler */
	bool accesses, routines; /* what is to be instrumented */
};

/* The only options that are ours. */
static bool is_own(const char *word)
{
	return strcmp(word, "--routines") == 0 || strcmp(word, "--accesses") == 0;
}

/* Options whose argument is the next word. */
static bool takes_word(const char *option)
{
	static const char *const options[] = {
		"-o",        "-x",         "-I",        "-L",           "-D",
		"-U",        "-l",         "-T",        "-u",           "-z",
		"-e",        "-A",         "-B",        "-G",           "-MF",
		"-MT",       "-MQ",        "-include",  "-imacros",     "-isystem",
		"-iquote",   "-idirafter", "-iprefix",  "-iwithprefix", "-iwithprefixbefore",
		"-isysroot", "-imultilib", "-Xlinker",  "-Xassembler",  "-Xpreprocessor",
		"-Xclang",   "-mllvm",     "-aux-info", "-wrapper",     "-specs",
		"--param",   "-target",    "-arch",     "-rpath",       "-dumpbase",
		"-dumpdir",  "--sysroot",
	};

	for (u32 i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strcmp(option, options[i]) == 0)
			return true;
	return false;
}

static bool stops_early(const char *option)
{
	static const char *const options[] = {
		"-c",           "-S",        "-E",        "-M",   "-MM", "-r", "-fsyntax-only",
		"--precompile", "-emit-ast", "--analyze", "-###",
	};

	for (u32 i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strcmp(option, options[i]) == 0)
			return true;
	return strncmp(option, "-print-", 7) == 0 || strncmp(option, "--print-", 8) == 0 ||
	       strncmp(option, "-dump", 5) == 0 || strcmp(option, "--version") == 0 ||
	       strncmp(option, "--help", 6) == 0;
}

static void request_read(struct request *self, int argc, char **argv)
{
	*self = (struct request){.links = true};
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];

		if (strcmp(word, "--routines") == 0)
			self->routines = true;
		else if (strcmp(word, "--accesses") == 0)
			self->accesses = true;
		else if (word[0] != '-' || word[1] == 0 || (word[1] == 'l' && word[2])) {
			const char *dot = strrchr(word, '.');

			self->inputs = true;
			self->assembler |=
				dot && (strcmp(dot, ".s") == 0 || strcmp(dot, ".S") == 0);
		} else if (stops_early(word))
			self->links = false;
		else if (strcmp(word, "-shared") == 0 || strcmp(word, "--shared") == 0)
			self->shared = true;
		else if (strncmp(word, "-flto", 5) == 0 || strcmp(word, "-fno-lto") == 0)
			self->lto = word[2] == 'l';
		else if (strcmp(word, "-m32") == 0 || strcmp(word, "-mx32") == 0)
			self->foreign = true;
		else if (takes_word(word))
			i++;
	}
	self->accesses = self->accesses || !self->routines;
}

/* ---- what is added ---- */

static const char *const gcc_words[] = {
	"-fsanitize=kernel-address",
	"-fasan-shadow-offset=" TEXT_OF(HW_SHADOW_OFFSET_TEXT),
	"--param=asan-stack=0",
	"--param=asan-globals=0",
	"--param=asan-instrument-allocas=0",
	"--param=asan-instrumentation-with-call-threshold=2000000000",
	"-frecord-gcc-switches",  /* by which the object is known later (host/checks/plain.h) */
	"-U__SANITIZE_ADDRESS__", /* the program is not to do what it does for that sanitizer */
	NULL,
};
/* Its own savings are off where they would hide accesses, and on where they only skip the stack. */
static const char *const clang_words[] = {
	"--start-no-unused-arguments",
	"-fsanitize=kernel-address",
	"-mllvm",
	"-asan-mapping-offset=" TEXT_OF(HW_SHADOW_OFFSET_TEXT),
	"-mllvm",
	"-asan-stack=0",
	"-mllvm",
	"-asan-globals=0",
	"-mllvm",
	"-asan-use-after-scope=0",
	"-mllvm",
	"-asan-opt-same-temp=0",
	"-mllvm",
	"-asan-opt-stack=1",
	"--end-no-unused-arguments",
	NULL,
};

static const char *const clang_inline_words[] = {
	"--start-no-unused-arguments",
	"-mllvm",
	"-asan-instrumentation-with-call-threshold=2000000000",
	"--end-no-unused-arguments",
	NULL,
};

/* Where pointers have tags clang's checks must pass our assembler. What the linker makes does not:
 * there a check is a call of the stub. */
static const char *const clang_text_words[] = {
	"--start-no-unused-arguments",
	"-fno-integrated-as",
	"--end-no-unused-arguments",
	NULL,
};
static const char *const clang_call_words[] = {
	"--start-no-unused-arguments", "-mllvm", "-asan-instrumentation-with-call-threshold=0",
	"--end-no-unused-arguments",   NULL,
};

/* clang has copies and fills made by calls when it instruments. With -flto it optimises after that,
 * and would make them instructions that nobody checks. */
static const char *const clang_lto_words[] = {
	"--start-no-unused-arguments", "-fno-builtin-memcpy",       "-fno-builtin-memmove",
	"-fno-builtin-memset",         "--end-no-unused-arguments", NULL,
};

/* A function that is expanded within itself could not be told from one that was left by longjmp and
 * called again, so it is not. clang expands first and then instruments what is left. */
static const char *const gcc_routine_words[] = {
	"-finstrument-functions",
	"--param=max-inline-recursive-depth=0",
	"--param=max-inline-recursive-depth-auto=0",
	NULL,
};
static const char *const clang_routine_words[] = {
	"--start-no-unused-arguments",
	"-finstrument-functions-after-inlining",
	"--end-no-unused-arguments",
	NULL,
};

static bool part_find(const struct command *command, const char *name, char *path)
{
	char folder[PARTS_PATH];
	struct err err = {0};

	parts_own_folder(folder);
	if (parts_find(folder, name, path))
		return true;
	err_set(&err, ERR_INPUT, "cannot find %s in %.1000s or in %s beside it", name, folder,
		parts_installed());
	command_fail(command, &err);
	return false;
}

static bool stub_find(const struct command *command, struct compiler *compiler, bool shared)
{
	char name[64];

	snprintf(name, sizeof(name), "heapwise-stub-%s-%s.o", shared ? "library" : "program",
		 compiler->family == FAMILY_CLANG ? "clang" : "gcc");
	return part_find(command, name, compiler->stub);
}

/* What the compiler takes for its assembler: a path, or a name to be looked for; "" if it does not
 * say. */
static void ask_for_assembler(const words *compiler, char *answer, size_t room)
{
	char command[4200] = "";
	size_t used = 0;
	FILE *output;

	answer[0] = 0;
	for (u64 i = 0; i < compiler->count && used < sizeof(command); i++) {
		if (strchr(compiler->data[i], '\''))
			return;
		used += (size_t)snprintf(command + used, sizeof(command) - used, "'%s' ",
					 compiler->data[i]);
	}
	if (used < sizeof(command))
		used += (size_t)snprintf(command + used, sizeof(command) - used,
					 "-print-prog-name=as 2>/dev/null");
	output = used < sizeof(command) ? popen(command, "r") : NULL;
	if (!output)
		return;
	if (fgets(answer, (int)room, output))
		answer[strcspn(answer, "\n")] = 0;
	pclose(output);
}

/* The compiler finds our assembler before its own (host/checks/main.c), in each of its processes,
 * those of gcc's -flto, too: it changes the checks and runs the compiler's. Where anything is in
 * the way they stay as they are; false if so. */
static bool change_checks(const words *compiler)
{
	const char *wish = getenv("HEAPWISE_SHORT_CHECKS"), *others = getenv("COMPILER_PATH");
	char folder[PARTS_PATH], ours[PARTS_PATH], theirs[PARTS_PATH], *path = NULL;

	if (wish && strcmp(wish, "0") == 0)
		return false;
	if (getenv(CHECKS_ASSEMBLER))
		return true;
	parts_own_folder(folder);
	if (!parts_find(folder, "gcc-as/as", ours) || strchr(ours, ':'))
		return false;
	*strrchr(ours, '/') = 0;
	ask_for_assembler(compiler, theirs, sizeof(theirs));
	if (theirs[0] &&
	    asprintf(&path, "%s%s%s", ours, others ? ":" : "", others ? others : "") > 0 &&
	    setenv(CHECKS_ASSEMBLER, theirs, 1) == 0)
		setenv("COMPILER_PATH", path, 1);
	free(path);
	return getenv(CHECKS_ASSEMBLER);
}

/* libtool asks a C++ compiler what it links libraries with, and later names all of it itself. */
static bool has_stub(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *file = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];

		if (strncmp(file, "heapwise-stub-", 14) == 0)
			return true;
	}
	return false;
}

/* -lNAME, in folders that -L names: with a shared library there the archive is not linked. */
static bool library_is_plain(const char *name, int argc, char **argv)
{
	char path[PARTS_PATH];

	for (int i = 0; i < argc; i++) {
		const char *folder = strncmp(argv[i], "-L", 2) == 0 ? argv[i] + 2 : NULL;

		if (folder && !*folder)
			folder = i + 1 < argc ? argv[i + 1] : NULL;
		if (!folder ||
		    snprintf(path, sizeof(path), "%s/lib%s.so", folder, name) >= (int)sizeof(path))
			continue;
		if (access(path, F_OK) == 0)
			return false;
		snprintf(path, sizeof(path), "%s/lib%s.a", folder, name);
		if (access(path, F_OK) == 0)
			return plain_is_linked(path);
	}
	return false;
}

/* -Wl,--whole-archive,PATH,... */
static bool linker_word_is_plain(const char *word)
{
	char path[PARTS_PATH];

	for (size_t bytes; *word; word += bytes + (word[bytes] == ',')) {
		bytes = strcspn(word, ",");
		if (snprintf(path, sizeof(path), "%.*s", (int)bytes, word) < (int)sizeof(path) &&
		    plain_is_linked(path))
			return true;
	}
	return false;
}

static bool word_is_plain(int at, int argc, char **argv)
{
	const char *word = argv[at];

	if (strcmp(word, "-l") == 0)
		return at + 1 < argc && library_is_plain(argv[at + 1], argc, argv);
	if (strncmp(word, "-l", 2) == 0)
		return library_is_plain(word + 2, argc, argv);
	if (strncmp(word, "-Wl,", 4) == 0)
		return linker_word_is_plain(word + 4);
	return word[0] != '-' && plain_is_linked(word);
}

/* Whether something is linked that was compiled without instrumentation. The compiler's own objects
 * do not count. */
static bool links_plain(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (word_is_plain(i, argc, argv))
			return true;
		if (argv[i][0] == '-' && takes_word(argv[i]))
			i++;
	}
	return false;
}

static bool push_all(words *argv, const char *const *more)
{
	for (; *more; more++)
		if (!vec_push(argv, *more))
			return false;
	return true;
}

static bool push_clang(words *line, const struct request *request)
{
	bool text = HW_POINTER_TAGS && !request->lto && !request->assembler && change_checks(line);
	bool calls = HW_POINTER_TAGS && request->lto;

	return push_all(line, clang_words) &&
	       push_all(line, calls ? clang_call_words : clang_inline_words) &&
	       (!text || push_all(line, clang_text_words)) &&
	       (!request->lto || push_all(line, clang_lto_words));
}

static int compile(const struct command *self, int argc, char **argv, bool cxx)
{
	struct compiler compiler = {0};
	struct request request;
	words line = {0};
	bool whole;
	int error;

	request_read(&request, argc, argv);
	whole = compiler_choose(&compiler, cxx, &line);
	if (whole && request.inputs && request.accesses && !request.foreign) {
		if (compiler.family == FAMILY_GCC)
			change_checks(&line);
		whole = compiler.family == FAMILY_CLANG ? push_clang(&line, &request)
							: push_all(&line, gcc_words);
	}
	if (whole && request.inputs && request.routines)
		whole = push_all(&line, compiler.family == FAMILY_CLANG ? clang_routine_words
									: gcc_routine_words);
	for (int i = 0; i < argc && whole; i++)
		if (!is_own(argv[i]))
			whole = vec_push(&line, (const char *)argv[i]);
	if (whole && request.inputs && request.links && request.accesses && !request.foreign &&
	    !has_stub(argc, argv)) {
		if (!stub_find(self, &compiler, request.shared))
			goto fail;
		/* "-x c" of before must not be meant for it. */
		whole = vec_push(&line, "-x") && vec_push(&line, "none") &&
			vec_push(&line, compiler.stub);
		if (links_plain(argc, argv)) {
			if (!part_find(self, "heapwise-stub-plain.o", compiler.plain))
				goto fail;
			whole = whole && vec_push(&line, compiler.plain);
		}
	}
	if (!whole || !vec_push(&line, NULL)) {
		fprintf(stderr, "heapwise %s: out of memory\n", self->name);
		goto fail;
	}
	execvp(line.data[0], (char *const *)(uintptr_t)line.data);
	error = errno;
	fprintf(stderr, "heapwise %s: cannot run '%s': %s%s\n", self->name, line.data[0],
		strerror(error),
		error == ENOENT ? "; install a compiler (gcc or clang), or set HEAPWISE_CC" : "");
fail:
	vec_release(&line);
	return EXIT_BAD_INPUT;
}

static int cc_command(const struct command *self, void *fields, int argc, char **argv)
{
	(void)fields;
	return compile(self, argc, argv, false);
}

static int cxx_command(const struct command *self, void *fields, int argc, char **argv)
{
	(void)fields;
	return compile(self, argc, argv, true);
}

static const struct option_spec no_options[] = {OPTION_END};

static const char details[] =
	"Runs the system's compiler with the same arguments and adds instrumentation, so that\n"
	"'heapwise run' can record which memory the program accesses. Without 'heapwise run' the\n"
	"program behaves as usual, a little slower. Uninstrumented objects can be linked in; their\n"
	"accesses are not seen, and no result about memory use is then called \"measured\".\n"
	"\n"
	"  CC=\"heapwise cc\" CXX=\"heapwise c++\" ./configure\n"
	"\n"
	"--routines: instrument the start and end of each routine instead, for 'heapwise run\n"
	"--routines'. --accesses --routines: instrument both.\n"
	"\n"
	"HEAPWISE_CC selects the compiler, gcc or clang. HEAPWISE_CXX selects the C++ compiler, by\n"
	"default the one that matches HEAPWISE_CC. HEAPWISE_SHORT_CHECKS=0 keeps gcc's access checks\n"
	"as gcc writes them; the program is then slower.\n"
	"\n"
	"Exit status: the compiler's; 3 if it could not be started.";

const struct command cmd_cc = {
	.name = "cc",
	.operands = "COMPILER-ARGUMENT...",
	.summary = "compile C or C++ so that 'heapwise run' can record memory accesses",
	.details = details,
	.options = no_options,
	.foreign_options = true,
	.run = cc_command,
};

const struct command cmd_cxx = {
	.name = "c++",
	.operands = "COMPILER-ARGUMENT...",
	.summary = "compile C++ so that 'heapwise run' can record memory accesses",
	.details = details,
	.options = no_options,
	.foreign_options = true,
	.run = cxx_command,
};
