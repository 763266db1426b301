/* SPDX-License-Identifier: MIT
 * Starts editors. Runs on threads of the server. The file is one that the trace names, never one
 * that a client names; it is one word of the command, whatever it is called. */
#define _GNU_SOURCE
#include "show/serve/editor.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "host/base/strbuf.h"

extern char **environ;

/* Those that open a window, or use one that is there: a server has no terminal to give. */
static const struct editor known[] = {
	{"vim", "gvim --remote-silent +%l %f"},
	{"emacs", "emacsclient -n +%l %f"},
	{"code", "code -g %f:%l"},
	{"clion", "clion --line %l %f"},
	{"kate", "kate -l %l %f"},
};

static u32 count_words(const char *text)
{
	u32 count = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		text += strcspn(text, " ");
		count++;
	}
	return count;
}

int editor_parse(struct editor *self, const char *text, struct err *err)
{
	for (u32 i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, text) == 0) {
			*self = known[i];
			return 0;
		}
	if (!strstr(text, "%f") || count_words(text) > EDITOR_WORDS)
		return err_set(err, ERR_USAGE,
			       "--editor must be one of " EDITOR_NAMES
			       ", or a command of at most %d words with %%f for the file",
			       EDITOR_WORDS);
	*self = (struct editor){text, text};
	return 0;
}

/* A path begins with / or ./, which no editor takes for an option or a command, as it might "-x",
 * "+!x" or "vscode:". */
static void add_file(struct strbuf *word, const char *file)
{
	strbuf_addf(word, "%s%s", *file != '/' && !word->count ? "./" : "", file);
}

static char *fill_in(const char *from, size_t bytes, const char *file, u64 line)
{
	struct strbuf word = {0};

	for (size_t i = 0; i < bytes; i++) {
		if (from[i] == '%' && i + 1 < bytes && from[i + 1] == 'f')
			add_file(&word, file);
		else if (from[i] == '%' && i + 1 < bytes && from[i + 1] == 'l')
			strbuf_addf(&word, "%llu", (unsigned long long)line);
		else
			strbuf_add_char(&word, from[i]);
		if (from[i] == '%' && i + 1 < bytes && strchr("fl", from[i + 1]))
			i++;
	}
	if (word.failed) {
		strbuf_release(&word);
		return NULL;
	}
	return strbuf_take(&word);
}

bool editor_words(const struct editor *self, const char *file, u64 line,
		  char *words[EDITOR_WORDS + 1])
{
	const char *at = self->words + strspn(self->words, " ");
	u32 count = 0;

	memset(words, 0, (EDITOR_WORDS + 1) * sizeof *words);
	while (*at && count < EDITOR_WORDS) {
		size_t bytes = strcspn(at, " ");

		words[count] = fill_in(at, bytes, file, line);
		if (!words[count++]) {
			editor_words_free(words);
			return false;
		}
		at += bytes;
		at += strspn(at, " ");
	}
	return true;
}

void editor_words_free(char *words[EDITOR_WORDS + 1])
{
	for (u32 i = 0; i < EDITOR_WORDS; i++)
		free(words[i]);
}

static void *wait_for(void *pid)
{
	waitpid((pid_t)(intptr_t)pid, NULL, 0);
	return NULL;
}

static int start(char **words, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int failure;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", 0 /* O_RDONLY */, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	failure = posix_spawnp(pid, words[0], &files, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return failure;
}

int editor_show(const struct editor *self, const char *file, u64 line, struct err *err)
{
	char *words[EDITOR_WORDS + 1];
	pthread_t waiter;
	pid_t pid;
	int failure;

	if (!editor_words(self, file, line, words))
		return err_memory(err);
	failure = start(words, &pid);
	if (failure)
		err_set(err, ERR_SYSTEM, "cannot start %s: %s", words[0], strerror(failure));
	editor_words_free(words);
	if (failure)
		return err->code;
	if (pthread_create(&waiter, NULL, wait_for, (void *)(intptr_t)pid) == 0)
		pthread_detach(waiter);
	return 0;
}
