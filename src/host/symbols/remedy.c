/* SPDX-License-Identifier: MIT
 * Debug files of a system's packages.
 * Host. Package databases are read as they are: dpkg's lists of files, and what apt has of archives
 * with debug packages. */
#define _GNU_SOURCE
#include "host/symbols/remedy.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/symbols/debug_find.h"
#include "host/symbols/module.h"

enum { PACKAGE_MAX = 100 };

/* ---- the file itself ---- */

static bool has_symbol_table(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static void add_debug_file(struct strbuf *path, const struct symbolizer_module *module)
{
	strbuf_add(path, "/usr/lib/debug");
	debug_add_build_id(path, module->build_id, module->build_id_bytes);
	strbuf_add(path, ".debug");
}

static bool has_debug_file(const struct symbolizer_module *module)
{
	struct strbuf path = {0};
	bool found;

	if (module->build_id_bytes < 2)
		return false;
	add_debug_file(&path, module);
	found = !path.failed && access(strbuf_text(&path), R_OK) == 0;
	strbuf_release(&path);
	return found;
}

static enum remedy_state state_of(const struct symbolizer_module *module)
{
	int fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum remedy_state state = REMEDY_REPLACED;
	struct stat status;
	Elf *elf;

	if (has_debug_file(module))
		state = REMEDY_NAMED;
	else if (fd < 0)
		state = REMEDY_GONE;
	else if (elf_version(EV_CURRENT) != EV_NONE && fstat(fd, &status) == 0 &&
		 S_ISREG(status.st_mode)) {
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
		if (elf_is_module(elf, module))
			state = has_symbol_table(elf) ? REMEDY_NAMED : REMEDY_STRIPPED;
		elf_end(elf);
	}
	if (fd >= 0)
		close(fd);
	return state;
}

/* ---- the system ---- */

struct system {
	char id[32], like[64], codename[32], name[80];
};

/* KEY=value or KEY="value" */
static void read_field(const char *text, const char *key, char *value, size_t room)
{
	size_t bytes = strlen(key);

	*value = 0;
	for (const char *line = text; line && *line;
	     line = strchr(line, '\n'), line += line != NULL) {
		const char *from = line + bytes + 1;

		if (strncmp(line, key, bytes) != 0 || line[bytes] != '=')
			continue;
		from += *from == '"';
		snprintf(value, room, "%.*s", (int)strcspn(from, "\"\n"), from);
		return;
	}
}

static struct system read_system(const char *root)
{
	struct system self = {0};
	struct strbuf path = {0}, text = {0};
	struct err err = {0};

	strbuf_addf(&path, "%s/etc/os-release", root);
	if (io_read_file(strbuf_text(&path), 64 << 10, &text, &err) == 0) {
		read_field(strbuf_text(&text), "PRETTY_NAME", self.name, sizeof self.name);
		read_field(strbuf_text(&text), "ID", self.id, sizeof self.id);
		read_field(strbuf_text(&text), "ID_LIKE", self.like, sizeof self.like);
		read_field(strbuf_text(&text), "VERSION_CODENAME", self.codename,
			   sizeof self.codename);
	}
	strbuf_release(&path);
	strbuf_release(&text);
	return self;
}

static bool is_like(const struct system *self, const char *name)
{
	return strcmp(self->id, name) == 0 || strstr(self->like, name);
}

void remedy_system(const char *root, char name[80])
{
	struct system self = read_system(root);

	memcpy(name, self.name, sizeof self.name);
}

const char *remedy_server(const char *root)
{
	static const struct {
		const char *id, *url;
	} servers[] = {
		{"ubuntu", "https://debuginfod.ubuntu.com"},
		{"debian", "https://debuginfod.debian.net"},
		{"fedora", "https://debuginfod.fedoraproject.org"},
		{"arch", "https://debuginfod.archlinux.org"},
		{"suse", "https://debuginfod.opensuse.org"},
	};
	struct system system = read_system(root);

	for (u32 i = 0; i < sizeof servers / sizeof *servers; i++)
		if (is_like(&system, servers[i].id))
			return servers[i].url;
	return "https://debuginfod.elfutils.org";
}

/* ---- packages ---- */

struct looking {
	const char *root;
	const struct symbolizer_module *modules;
	struct remedy *remedies;
	char (*packages)[PACKAGE_MAX]; /* that own the modules, "" = not found yet */
	u32 count;
};

/* Calls for each file of the folder whose name holds `part` and ends so, until all was found. */
static void
each_file(const struct looking *self, const char *folder, const char *part, const char *end,
	  void (*look)(const struct looking *, const char *name, const char *text, size_t bytes))
{
	struct strbuf path = {0};
	struct dirent *entry;
	DIR *dir;

	strbuf_addf(&path, "%s%s", self->root, folder);
	dir = opendir(strbuf_text(&path));
	while (dir && (entry = readdir(dir))) {
		size_t bytes = strlen(entry->d_name), tail = strlen(end);
		int fd = -1;
		struct stat status;
		void *text;

		if (bytes > tail && strcmp(entry->d_name + bytes - tail, end) == 0 &&
		    strstr(entry->d_name, part))
			fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		text = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0
			       ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
			       : MAP_FAILED;
		close(fd);
		if (text == MAP_FAILED)
			continue;
		look(self, entry->d_name, text, (size_t)status.st_size);
		munmap(text, (size_t)status.st_size);
	}
	if (dir)
		closedir(dir);
	strbuf_release(&path);
}

/* A list has one path per line. What is in /usr/lib now may be listed as in /lib. */
static bool lists_file(const char *text, size_t bytes, const char *path)
{
	const char *rest = strncmp(path, "/usr/", 5) == 0 ? path + 4 : path, *end = text + bytes;
	size_t length = strlen(rest);

	for (const char *at = text; (at = memmem(at, (size_t)(end - at), rest, length));
	     at += length) {
		size_t before = (size_t)(at - text);
		bool begins = before == 0 || at[-1] == '\n' ||
			      (before >= 4 && strncmp(at - 4, "/usr", 4) == 0 &&
			       (before == 4 || at[-5] == '\n'));

		if (begins && (at + length == end || at[length] == '\n'))
			return true;
	}
	return false;
}

/* NAME.list or NAME:amd64.list */
static void look_owner(const struct looking *self, const char *name, const char *text, size_t bytes)
{
	for (u32 i = 0; i < self->count; i++)
		if (!*self->packages[i] && self->remedies[i].state == REMEDY_STRIPPED &&
		    lists_file(text, bytes, self->modules[i].path))
			snprintf(self->packages[i], PACKAGE_MAX, "%.*s",
				 (int)(strchr(name, ':') ? strcspn(name, ":") : strlen(name) - 5),
				 name);
}

/* The name in the paragraph around this place, which begins with "Package: NAME"; NULL if there is
 * none. */
static const char *package_around(const char *text, const char *at)
{
	static const char key[] = "Package: ";
	const size_t bytes = sizeof key - 1;

	for (; at; at = memrchr(text, '\n', (size_t)(at - text)))
		if (*at == '\n' && strncmp(at + 1, key, bytes) == 0)
			return at + 1 + bytes;
	return strncmp(text, key, bytes) == 0 ? text + bytes : NULL;
}

/* apt's lists say of each package with debug files which build-ids they are for. */
static void look_debug_package(const struct looking *self, const char *name, const char *text,
			       size_t bytes)
{
	(void)name;
	for (u32 i = 0; i < self->count; i++) {
		const struct symbolizer_module *module = &self->modules[i];
		struct remedy *remedy = &self->remedies[i];
		struct strbuf id = {0};
		const char *at = NULL, *end;

		for (u32 k = 0; k < module->build_id_bytes; k++)
			strbuf_addf(&id, "%02x", module->build_id[k]);
		if (id.count > 8 && remedy->state == REMEDY_STRIPPED)
			at = memmem(text, bytes, id.text, id.count);
		strbuf_release(&id);
		at = at ? package_around(text, at) : NULL;
		end = at ? memchr(at, '\n', (size_t)(text + bytes - at)) : NULL;
		if (end)
			snprintf(remedy->install, sizeof remedy->install, "apt install %.*s",
				 (int)(end - at), at);
	}
}

/* Debian has a package with debug files beside nearly each one with programs, in an archive of its
 * own. */
static void guess_debug_package(const struct looking *self, const struct system *system)
{
	for (u32 i = 0; i < self->count; i++) {
		struct remedy *remedy = &self->remedies[i];
		bool libc = strcmp(self->packages[i], "libc6") == 0;

		if (*remedy->install || !*self->packages[i])
			continue;
		snprintf(remedy->install, sizeof remedy->install, "apt install %s-%s",
			 self->packages[i], libc ? "dbg" : "dbgsym");
		if (libc || !*system->codename)
			continue;
		if (strcmp(system->id, "debian") == 0)
			snprintf(remedy->archive, sizeof remedy->archive,
				 "Debian's debug archive, suite %s-debug", system->codename);
		else if (strcmp(system->id, "ubuntu") == 0)
			snprintf(remedy->archive, sizeof remedy->archive,
				 "Ubuntu's debug archive (ddebs), suite %s", system->codename);
	}
}

/* Where packages can be named by the files in them, the debug file's own name says which. */
static void name_by_file(const struct looking *self)
{
	for (u32 i = 0; i < self->count; i++) {
		const struct symbolizer_module *module = &self->modules[i];
		struct strbuf path = {0};

		if (self->remedies[i].state != REMEDY_STRIPPED || module->build_id_bytes < 2 ||
		    strncmp(module->path, "/usr/", 5) != 0)
			continue;
		add_debug_file(&path, module);
		snprintf(self->remedies[i].install, sizeof self->remedies[i].install,
			 "dnf --enablerepo='*debug*' install %s", strbuf_text(&path));
		strbuf_release(&path);
	}
}

void remedy_find(const char *root, const struct symbolizer_module *modules, u32 count,
		 struct remedy *remedies)
{
	struct looking looking = {.root = root,
				  .modules = modules,
				  .remedies = remedies,
				  .count = count};
	struct system system;
	bool stripped = false;

	for (u32 i = 0; i < count; i++) {
		remedies[i] = (struct remedy){.state = state_of(&modules[i])};
		stripped |= remedies[i].state == REMEDY_STRIPPED;
	}
	looking.packages = root && stripped ? calloc(count, sizeof *looking.packages) : NULL;
	if (!looking.packages)
		return;
	system = read_system(root);
	each_file(&looking, "/var/lib/dpkg/info", "", ".list", look_owner);
	each_file(&looking, "/var/lib/apt/lists", "debug", "_Packages", look_debug_package);
	guess_debug_package(&looking, &system);
	if (is_like(&system, "fedora"))
		name_by_file(&looking);
	free(looking.packages);
}
