/* SPDX-License-Identifier: MIT
 * The client behind `heapwise ctl`: finds the monitor of a process and has it run a verb; see
 * control_server.h. Runs in our own process. Never waits without a limit. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "live/control/control_server.h"

enum { ANSWER_MAX = 1 << 20 };

/* How long a monitor may take: to tell whom it records; and for any verb, longer than that takes in
 * the server. */
static const struct timeval quick = {.tv_sec = 1}, patient = {.tv_sec = CONTROL_WAIT_SECONDS + 5},
			    scanning = {.tv_sec = CONTROL_SCAN_SECONDS + 5};

/* 1: answered, text is the answer. 0: nobody is there. Negative: err, ERR_SYSTEM if there was no
 * answer in time. */
static int exchange(const char *path, const char *request, const struct timeval *limit,
		    struct strbuf *text, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char buffer[4096];
	ssize_t got = -1;
	int fd, status = 0;

	if (strlen(path) >= sizeof(address.sun_path))
		return 0;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot create a socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, limit, sizeof(*limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, limit, sizeof(*limit));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request)) {
		while ((got = recv(fd, buffer, sizeof(buffer), 0)) > 0 && text->count < ANSWER_MAX)
			strbuf_add_bytes(text, buffer, (u64)got);
		status = got == 0 && text->count ? 1 : 0;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			status = err_set(err, ERR_SYSTEM,
					 "the monitor at %s does not answer; it may be stopped",
					 path);
	}
	close(fd);
	return status;
}

/* 1: done. 0: this monitor does not record the process. Negative: err. */
static int understand(const struct strbuf *text, struct strbuf *reply, struct err *err)
{
	const char *line = strbuf_text(text);
	size_t length = strcspn(line, "\n");
	bool usage = strncmp(line, "usage ", 6) == 0;

	if (strncmp(line, "unknown\n", 8) == 0)
		return 0;
	if (strncmp(line, "ok\n", 3) == 0) {
		strbuf_add(reply, line + 3);
		return 1;
	}
	if (usage || strncmp(line, "error ", 6) == 0)
		return err_set(err, usage ? ERR_USAGE : ERR_INPUT, "%.*s", (int)length - 6,
			       line + 6);
	return err_set(err, ERR_INPUT, "the monitor's answer cannot be read");
}

static int call_socket(const char *path, const char *request, const struct timeval *limit,
		       struct strbuf *reply, struct err *err)
{
	struct strbuf text = {0};
	int status = exchange(path, request, limit, &text, err);

	if (status > 0)
		status = understand(&text, reply, err);
	strbuf_release(&text);
	return status;
}

struct call {
	const char *request; /* what is wanted */
	const char *asks;    /* whether the monitor records the process */
	struct strbuf *reply;
};

/* What is wanted of who says in time that it records the process. 1: done; 0: it does not. */
static int call_who_knows(const char *path, const struct call *call, const struct timeval *limit,
			  struct err *err)
{
	bool scan = strncmp(call->request, "scan", 4) == 0;
	struct strbuf known = {0};
	int status = call_socket(path, call->asks, limit, &known, err);

	strbuf_release(&known);
	return status > 0 ? call_socket(path, call->request, scan ? &scanning : &patient,
					call->reply, err)
			  : status;
}

/* All monitors of a folder are asked: which processes they record is known to them alone. One that
 * does not answer, as it is stopped, keeps nobody waiting but who finds no other one that knows the
 * process. */
static int call_folder(const char *folder, const struct call *call, bool patiently, struct err *err)
{
	DIR *dir = control_folder_is_ours(folder) ? opendir(folder) : NULL;
	struct dirent *entry;
	int status = 0;

	while (dir && status <= 0 && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);
		struct err one = {0};
		char path[400];

		if (length < 6 || strcmp(entry->d_name + length - 5, ".sock") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		status = call_who_knows(path, call, patiently ? &patient : &quick, &one);
		if (status < 0)
			*err = one;
		if (status < 0 && one.code != ERR_SYSTEM)
			break;
	}
	if (dir)
		closedir(dir);
	return status > 0 ? 1 : err->code;
}

static int nobody(u32 pid, struct err *err)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &status) < 0)
		return err_set(err, ERR_INPUT, "there is no process %u", pid);
	if (status.st_uid != geteuid())
		return err_set(err, ERR_INPUT,
			       "process %u belongs to another user; only the user who started the "
			       "recording may control it",
			       pid);
	return err_set(err, ERR_INPUT,
		       "process %u is not recorded; give the pid of a program that 'heapwise run' "
		       "started, or of that heapwise",
		       pid);
}

int control_call(u32 pid, const char *verb, struct strbuf *reply, struct err *err)
{
	char request[128], asks[64], buffer[64];
	struct call call = {request, asks, reply};
	const char *folder;
	int status = 0;

	if ((size_t)snprintf(request, sizeof(request), "%s %u\n", verb, pid) >= sizeof(request) ||
	    strpbrk(verb, " \n"))
		return err_set(err, ERR_USAGE, "'%s' is not a verb", verb);
	snprintf(asks, sizeof(asks), "status %u\n", pid);
	for (u32 patiently = 0; patiently < 2; patiently++) {
		err->code = 0;
		status = 0;
		for (u32 i = 0;
		     (status == 0 || status == ERR_SYSTEM) && (folder = control_folder(i, buffer));
		     i++)
			status = call_folder(folder, &call, patiently, err);
		if (status != ERR_SYSTEM)
			break;
	}
	if (status == 0)
		return nobody(pid, err);
	return status < 0 ? status : 0;
}
