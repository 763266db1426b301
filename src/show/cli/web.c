/* SPDX-License-Identifier: MIT
 * Servers and browsers for commands; see web.h. Host. */
#define _GNU_SOURCE
#include "show/cli/web.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/base/io.h"
#include "host/base/units.h"

extern char **environ;

int web_open(struct server *server, const char *address, u64 port, struct err *err)
{
	char text[LISTEN_NAME_BYTES + 8];

	snprintf(text, sizeof text, strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, (u32)port);
	return server_open(server, text, err);
}

int web_open_socket(struct server *server, const char *path, struct err *err)
{
	char *text = NULL;
	int status;

	if (asprintf(&text, "unix:%s", path) < 0)
		return err_memory(err);
	status = server_open(server, text, err);
	free(text);
	return status;
}

char *web_graphs_folder(void)
{
	struct strbuf folder = {0};

	if (!io_user_folder("XDG_CONFIG_HOME", ".config", &folder))
		return NULL;
	strbuf_add(&folder, "/heapwise/graphs");
	return strbuf_take(&folder);
}

void web_say_index(const struct study *trace)
{
	if (trace->index.bytes)
		fprintf(stderr,
			"heapwise: wrote the index %s, %s, so that the trace opens faster; "
			"'heapwise trace index --remove %s' removes it\n",
			trace->index.path, units_bytes(trace->index.bytes).text, trace->path);
}

void web_warn(const struct server *server)
{
	if (!address_is_loopback(&server->listen.address))
		fprintf(stderr, "heapwise: WARNING: other machines can reach this server, and the "
				"connection is not encrypted; the token can be read on the "
				"network\n");
}

void web_browser_open(const struct command *command, const char *url)
{
	const char *browser = getenv("BROWSER");
	const char *program = browser && *browser ? browser : "xdg-open";
	char *arguments[] = {(char *)program, (char *)url, NULL};
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int failure;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	failure = posix_spawnp(&pid, program, NULL, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	if (failure)
		fprintf(stderr, "heapwise %s: cannot start the browser %s: %s\n", command->name,
			program, strerror(failure));
}

void web_signals_block(sigset_t *signals, sigset_t *before)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, signals, before);
	signal(SIGPIPE, SIG_IGN);
}

void web_signals_wait(const sigset_t *signals, u64 seconds)
{
	struct timespec time = {.tv_sec = (time_t)seconds};

	if (seconds)
		while (sigtimedwait(signals, NULL, &time) < 0 && errno == EINTR)
			;
	else
		while (sigwaitinfo(signals, NULL) < 0 && errno == EINTR)
			;
}
