/* SPDX-License-Identifier: MIT
 * Translation units out of compile_commands.json, or out of the command line.
 * Runs on the host. Of a command only what changes the meaning of the source is kept: libclang
 * refuses a unit because of a single option of another compiler. */
#include "host/symbols/indexer/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct option_list {
	const char *const *data;
	u32 count;
};

/* Options that every version understands; those that end in a space take the next word, too. */
static const char *const plain_options[] = {
	"-I ",
	"-D ",
	"-U ",
	"-include ",
	"-imacros ",
	"-isystem ",
	"-iquote ",
	"-idirafter ",
	"-isysroot ",
	"-x ",
	"-std=",
	"--std=",
	"-ansi",
	"-nostdinc",
	"-pthread",
	"-undef",
	"--driver-mode=",
	"--sysroot",
	"-fsigned-char",
	"-funsigned-char",
	"-fshort-enums",
	"-fshort-wchar",
	"-fno-exceptions",
	"-fno-rtti",
	"-fms-extensions",
	"-fopenmp",
	"-fpermissive",
	"-fgnu89-inline",
};

/* -m options: instruction sets decide which functions headers have. Not all are known to clang. */
static const char *const other_options[] = {"-m",       "-stdlib=",  "-fchar8_t", "-fcoroutines",
					    "-fblocks", "--target=", "-target ",  "-O"};

/* How many words the option and its argument are; 0 if it is none of these. */
static u32 option_words(const char *word, struct option_list options)
{
	for (u32 i = 0; i < options.count; i++) {
		u64 bytes = strcspn(options.data[i], " ");

		if (strncmp(word, options.data[i], bytes))
			continue;
		return options.data[i][bytes] == ' ' && !word[bytes] ? 2 : 1;
	}
	return 0;
}

/* Paths are made absolute: libclang has one current folder for all threads. */
static const char *absolute_option(struct unit_list *self, const char *folder, const char *word,
				   const char *before)
{
	static const char *const with_path[] = {"-I",      "-include",   "-imacros",  "-isystem",
						"-iquote", "-idirafter", "-isysroot", "--sysroot="};
	struct strbuf path = {0}, out = {0};
	const char *kept = word;

	for (u32 i = 0; i < sizeof with_path / sizeof *with_path; i++) {
		u64 bytes = strlen(with_path[i]);
		bool apart = before && !strcmp(before, with_path[i]);
		const char *value = apart ? word : word + bytes;

		if (!apart && (before || strncmp(word, with_path[i], bytes) || !*value))
			continue;
		if (*value == '/' || *value == '=')
			break;
		type_index_clean_path(folder, value, &path);
		if (!access(strbuf_text(&path), F_OK)) {
			strbuf_addf(&out, "%s%s", apart ? "" : with_path[i], strbuf_text(&path));
			kept = arena_copy(&self->arena, strbuf_text(&out));
		}
		break;
	}
	strbuf_release(&path);
	strbuf_release(&out);
	return kept ? kept : word;
}

static void add_options(struct unit_list *self, struct unit *unit, char **words, u32 count,
			struct option_list options)
{
	for (u32 i = 0; i < count; i++) {
		u32 taken = option_words(words[i], options);

		for (u32 k = 0; k < taken && i + k < count; k++)
			unit->flags[unit->flag_count++] =
				absolute_option(self, unit->folder, words[i + k],
						k ? words[i] : NULL);
		if (taken)
			i += taken - 1;
		else if (!strcmp(words[i], "-o") || !strcmp(words[i], "-MF") ||
			 !strcmp(words[i], "-MT") || !strcmp(words[i], "-MQ"))
			i++;
	}
}

/* Words are the command's without the compiler. */
static bool add_unit(struct unit_list *self, const char *folder, const char *source, char **words,
		     u32 count)
{
	struct unit unit = {.old = NO_OLD_UNIT};
	struct strbuf path = {0};

	type_index_clean_path(folder, source, &path);
	unit.folder = arena_copy(&self->arena, folder);
	unit.path = arena_copy(&self->arena, strbuf_text(&path));
	strbuf_release(&path);
	unit.flags = arena_new_array(&self->arena, const char *, 2 * (u64)count + 4);
	if (!unit.folder || !unit.path || !unit.flags)
		return false;
	add_options(self, &unit, words, count,
		    (struct option_list){plain_options,
					 sizeof plain_options / sizeof *plain_options});
	unit.plain_count = unit.flag_count;
	add_options(self, &unit, words, count,
		    (struct option_list){other_options,
					 sizeof other_options / sizeof *other_options});
	unit.key = hash_text(HASH_START, folder);
	unit.key = hash_text(unit.key, unit.path);
	for (u32 i = 0; i < unit.flag_count; i++)
		unit.key = hash_text(unit.key, unit.flags[i]);
	return vec_push(&self->units, unit);
}

static char *copy_string(struct unit_list *self, const struct clang *clang, CXString string)
{
	const char *text = clang->getCString(string);
	char *copy = arena_copy(&self->arena, text ? text : "");

	clang->disposeString(string);
	return copy;
}

static bool add_command(struct unit_list *self, const struct clang *clang, CXCompileCommand command)
{
	u32 count = clang->CompileCommand_getNumArgs(command);
	char *folder = copy_string(self, clang, clang->CompileCommand_getDirectory(command));
	char *source = copy_string(self, clang, clang->CompileCommand_getFilename(command));
	char **words = arena_new_array(&self->arena, char *, count);
	u32 kept = 0;

	if (!folder || !source || !words)
		return false;
	for (u32 i = 1; i < count; i++) {
		words[kept] = copy_string(self, clang, clang->CompileCommand_getArg(command, i));
		if (!words[kept++])
			return false;
	}
	return add_unit(self, folder, source, words, kept);
}

/* libclang wants the folder, and reads only a file of that one name in it. */
static int database_folder(const char *path, struct strbuf *folder, struct err *err)
{
	static const char name[] = "compile_commands.json";
	struct strbuf file = {0};
	struct stat status;
	int result = 0;

	strbuf_add(folder, path);
	if (!stat(path, &status) && !S_ISDIR(status.st_mode)) {
		const char *slash = strrchr(path, '/');

		if (strcmp(slash ? slash + 1 : path, name))
			return err_set(err, ERR_INPUT, "%s: the file must be named %s", path, name);
		strbuf_clear(folder);
		strbuf_add_bytes(folder, slash ? path : ".", slash ? (u64)(slash - path) : 1);
		if (!folder->count)
			strbuf_add(folder, "/");
	}
	strbuf_addf(&file, "%s/%s", strbuf_text(folder), name);
	if (access(strbuf_text(&file), R_OK))
		result = err_set(err, ERR_INPUT,
				 "%s: %s; create it with cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "
				 "or, for other builds, with 'bear -- make'",
				 strbuf_text(&file), strerror(errno));
	strbuf_release(&file);
	return result;
}

static int read_database(struct unit_list *self, const struct clang *clang, const char *path,
			 struct err *err)
{
	struct strbuf folder = {0};
	CXCompilationDatabase_Error error = CXCompilationDatabase_NoError;
	CXCompilationDatabase database;
	CXCompileCommands commands;
	int result = database_folder(path, &folder, err);

	if (result)
		goto done;
	database = clang->CompilationDatabase_fromDirectory(strbuf_text(&folder), &error);
	if (error != CXCompilationDatabase_NoError) {
		result = err_set(err, ERR_INPUT, "%s/compile_commands.json cannot be read as JSON",
				 strbuf_text(&folder));
		goto done;
	}
	commands = clang->CompilationDatabase_getAllCompileCommands(database);
	for (u32 i = 0; i < clang->CompileCommands_getSize(commands) && !result; i++)
		if (!add_command(self, clang, clang->CompileCommands_getCommand(commands, i)))
			result = err_memory(err);
	clang->CompileCommands_dispose(commands);
	clang->CompilationDatabase_dispose(database);
	if (!result && !self->units.count)
		result = err_set(err, ERR_INPUT, "%s/compile_commands.json names no sources",
				 strbuf_text(&folder));
done:
	strbuf_release(&folder);
	return result;
}

int unit_list_read(struct unit_list *self, const struct clang *clang,
		   const struct indexer_options *options, struct err *err)
{
	char *folder;
	int result = 0;

	if (options->database)
		return read_database(self, clang, options->database, err);
	folder = getcwd(NULL, 0);
	for (u32 i = 0; i < options->file_count && !result; i++) {
		if (access(options->files[i], R_OK))
			result = err_set(err, ERR_INPUT, "%s: %s", options->files[i],
					 strerror(errno));
		else if (!folder || !add_unit(self, folder, options->files[i],
					      (char **)options->flags, options->flag_count))
			result = err_memory(err);
	}
	free(folder);
	return result;
}

void unit_list_release(struct unit_list *self)
{
	for (u64 i = 0; i < self->units.count; i++) {
		struct unit *unit = &self->units.data[i];

		names_release(&unit->texts);
		vec_release(&unit->files);
		map_release(&unit->file_of_text);
		vec_release(&unit->sites);
	}
	vec_release(&self->units);
	arena_release(&self->arena);
}

u32 unit_file(struct unit *self, const char *path)
{
	const char *kept = names_keep(&self->texts, path);
	u64 *number = map_at(&self->file_of_text, (u64)(uintptr_t)kept);

	if (!number || (!*number && !vec_push(&self->files, kept))) {
		self->no_memory = true;
		return UINT32_MAX;
	}
	if (!*number)
		*number = self->files.count;
	return (u32)*number - 1;
}
