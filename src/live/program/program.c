/* SPDX-License-Identifier: MIT
 * Looks at the file that is to be run; see program.h. Runs in the monitor, before the program.
 * Never executes anything: what it says is a forecast, the system has the last word at exec. */
#define _GNU_SOURCE
#include "live/program/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "host/base/io.h"
#include "format/session.h"
#include "format/shadow.h"
#include "live/program/executable.h"
#include "live/program/hint.h"

enum { SCRIPTS_MAX = 5, LINE_MAX_BYTES = 256 };

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_executable_file(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return false;
	if (!S_ISREG(status.st_mode) || access(path, X_OK) < 0) {
		errno = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
		return false;
	}
	return true;
}

/* Tries each folder of PATH; *found tells a file that may not be executed from no file. */
static bool search_path(struct program *self, const char *name, bool *found)
{
	const char *at = getenv("PATH");

	if (!at)
		at = "/bin:/usr/bin";
	for (;;) {
		int length = (int)strcspn(at, ":");

		snprintf(self->path, sizeof(self->path), "%.*s%s%s", length, at, length ? "/" : "",
			 name);
		if (is_executable_file(self->path))
			return true;
		*found = *found || errno == EACCES;
		if (!at[length])
			return false;
		at += length + 1;
	}
}

static int find_file(struct program *self, const char *name, struct err *err)
{
	size_t length = strlen(name);
	bool found = false;

	if (length == 0 || length >= sizeof(self->path))
		return err_set(err, ERR_INPUT, "the program's name is empty or too long");
	if (!strchr(name, '/')) {
		if (search_path(self, name, &found))
			return 0;
		if (found)
			return err_set(err, ERR_INPUT, "program '%s' is not executable", name);
		return err_set(err, ERR_INPUT, "cannot find program '%s' in PATH", name);
	}
	memcpy(self->path, name, length + 1);
	if (is_executable_file(name))
		return 0;
	if (errno == EACCES)
		return err_set(err, ERR_INPUT, "program '%s' is not executable", name);
	if (errno == EISDIR)
		return err_set(err, ERR_INPUT, "'%s' is a folder, not a program", name);
	return err_set(err, ERR_INPUT, "cannot find program '%s': %s", name, strerror(errno));
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The loader itself can be run as a program, and then it does preload. */
static bool is_loader(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

static enum program_obstacle elf_obstacle(struct program *self, int fd)
{
	char loader[LINE_MAX_BYTES];
	const char *slash;
	Elf64_Ehdr header;
	u64 got = 0;

	if (io_read_at(fd, &header, sizeof(header), 0, &got) != 0 || got < sizeof(Elf32_Ehdr))
		return PROGRAM_RECORDABLE; /* exec will say what is wrong with it */
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != HW_MACHINE)
		return PROGRAM_OTHER_MACHINE;
	if (!executable_loader(fd, loader, sizeof(loader)) && !is_loader(self->binary))
		return PROGRAM_STATIC;
	slash = strrchr(loader, '/');
	self->musl = slash && strncmp(slash, "/ld-musl-", 9) == 0;
	return executable_has_sanitizer(fd) ? PROGRAM_SANITIZED : PROGRAM_RECORDABLE;
}

/* Whether exec gives the process other rights than ours, which makes the loader deaf to
 * LD_PRELOAD. */
static bool changes_rights(int fd)
{
	struct statvfs mount;
	struct stat status;
	char capability[64];

	if (fstat(fd, &status) < 0 || fstatvfs(fd, &mount) < 0 || (mount.f_flag & ST_NOSUID))
		return false;
	if ((status.st_mode & S_ISUID) && status.st_uid != getuid())
		return true;
	if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid())
		return true;
	return geteuid() != 0 &&
	       fgetxattr(fd, "security.capability", capability, sizeof(capability)) > 0;
}

/* The interpreter of a script's first line; false if the file is no script. */
static bool script_interpreter(const char *head, u64 bytes, char *path, u64 room)
{
	u64 at = 2, length;

	if (bytes < 3 || head[0] != '#' || head[1] != '!')
		return false;
	while (at < bytes && (head[at] == ' ' || head[at] == '\t'))
		at++;
	for (length = 0; at + length < bytes && !strchr(" \t\r\n", head[at + length]); length++) {
	}
	if (!length || length >= room)
		return false;
	memcpy(path, head + at, length);
	path[length] = 0;
	return true;
}

/* Looks at self->binary; true if it was a script and its interpreter is to be looked at next. */
static bool look_once(struct program *self)
{
	int fd = open(self->binary, O_RDONLY | O_CLOEXEC);
	char head[LINE_MAX_BYTES], next[LINE_MAX_BYTES];
	u64 bytes = 0;
	bool script = false;

	if (fd < 0)
		return false; /* executable, but not readable */
	if (io_read_at(fd, head, sizeof(head), 0, &bytes) == 0)
		script = script_interpreter(head, bytes, next, sizeof(next));
	if (!script && bytes >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		self->obstacle = elf_obstacle(self, fd);
	if (!script && self->obstacle == PROGRAM_RECORDABLE && changes_rights(fd))
		self->obstacle = PROGRAM_SETUID;
	close(fd);
	if (script)
		snprintf(self->binary, sizeof(self->binary), "%s", next);
	return script;
}

static bool file_has_note(const char *path, u32 type, u32 *content)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found = fd >= 0 && executable_has_note(fd, type, content);

	if (fd >= 0)
		close(fd);
	return found;
}

bool program_is_instrumented(const char *path)
{
	u32 version;

	return file_has_note(path, HW_NOTE_ACCESS, &version);
}

bool program_has_plain(const char *path)
{
	u32 version;

	return file_has_note(path, HW_NOTE_PLAIN, &version);
}

/* A recorder that is there already needs no loader; with other rights it does nothing. */
static void look_for_recorder(struct program *self)
{
	u32 version;
	int fd;

	if (!file_has_note(self->binary, HW_NOTE_LINKED, &version))
		return;
	self->linked = true;
	if (version != HW_SESSION_VERSION)
		self->obstacle = PROGRAM_OTHER_RECORDER;
	if (self->obstacle != PROGRAM_STATIC)
		return;
	fd = open(self->binary, O_RDONLY | O_CLOEXEC);
	self->obstacle = fd >= 0 && changes_rights(fd) ? PROGRAM_SETUID : PROGRAM_RECORDABLE;
	if (fd >= 0)
		close(fd);
}

int program_find(struct program *self, const char *name, struct err *err)
{
	memset(self, 0, sizeof(*self));
	if (find_file(self, name, err) < 0)
		return err->code;
	memcpy(self->binary, self->path, sizeof(self->binary));
	for (u32 i = 0; i < SCRIPTS_MAX && look_once(self); i++) {
	}
	self->instrumented = program_is_instrumented(self->binary);
	look_for_recorder(self);
	return 0;
}

void program_take_emulator(struct program *self, const char *recorder)
{
	int fd = self->obstacle == PROGRAM_STATIC ? open(recorder, O_RDONLY | O_CLOEXEC) : -1;
	Elf64_Ehdr header;
	u64 got = 0;

	if (fd < 0)
		return;
	if (io_read_at(fd, &header, sizeof(header), 0, &got) == 0 && got == sizeof(header) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine != HW_MACHINE)
		self->obstacle = PROGRAM_RECORDABLE;
	close(fd);
}

int program_refuse(const struct program *self, struct err *err)
{
	static const char *const whys[] = {
		[PROGRAM_STATIC] = "statically linked, so the recorder cannot be loaded into it; "
				   "link it dynamically or with libheapwise.a "
				   "(heapwise-recorder(3)), or",
		[PROGRAM_SETUID] = "runs with other privileges than yours (setuid, setgid or "
				   "capabilities), so the recorder cannot be loaded into it; run "
				   "heapwise as that user, or",
		[PROGRAM_OTHER_MACHINE] = "is built for another processor or word size than this "
					  "heapwise;",
		[PROGRAM_OTHER_RECORDER] = "contains the recorder of another version of heapwise; "
					   "link it again with this version's libheapwise.a, or",
		[PROGRAM_SANITIZED] = "was built with a sanitizer, which replaces malloc itself; "
				      "build it without -fsanitize=address, thread, leak or "
				      "memory, or",
	};
	const char *is = self->obstacle != PROGRAM_STATIC                 ? ""
			 : runtime_of_program(self->binary) == RUNTIME_GO ? "is a Go program, "
									  : "is ";

	return err_set(err, ERR_INPUT, "'%s' %s%s --unprofiled runs it without recording",
		       self->binary, is, whys[self->obstacle]);
}
