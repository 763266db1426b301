/* SPDX-License-Identifier: MIT
 * The server behind `heapwise ctl`; see control_server.h. Runs in the monitor on a thread of its
 * own: a client that is slow, or talks nonsense, keeps nobody waiting but the next client, and not
 * for long. */
#define _GNU_SOURCE
#include "live/control/control_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/options.h"

enum { LINE_MAX_BYTES = 256, CLIENT_SECONDS = 2, BACKLOG = 16, TRIES = 3 };

/* ---- the folder ------------------------------------------------------------------------------ */

/* Found without the environment: who asks may have another one than who records. */
const char *control_folder(u32 index, char buffer[64])
{
	static const char *const formats[] = {"/run/user/%u/heapwise", "/tmp/heapwise-%u"};

	if (index >= sizeof(formats) / sizeof(*formats))
		return NULL;
	snprintf(buffer, 64, index ? formats[1] : formats[0], (unsigned int)geteuid());
	return buffer;
}

bool control_folder_is_ours(const char *folder)
{
	struct stat status;

	return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
	       status.st_uid == geteuid() && (status.st_mode & 0077) == 0;
}

static bool folder_make(const char *folder)
{
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return false;
	if (control_folder_is_ours(folder))
		return true;
	errno = EPERM;
	return false;
}

/* Nobody listens there. That a process of its number is not seen is not enough: it may have another
 * number where it is. */
static bool is_abandoned(const char *folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused = false;

	if (fd < 0)
		return false;
	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, name) <
	    (int)sizeof(address.sun_path))
		refused = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
			  errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/* Sockets of monitors that were killed. */
static void folder_tidy(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (pid > 0 && strcmp(end, ".sock") == 0 && kill((pid_t)pid, 0) < 0 &&
		    errno == ESRCH && is_abandoned(folder, entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

/* ---- one client ------------------------------------------------------------------------------ */

static bool is_same_user(int client)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       peer.uid == geteuid();
}

/* A line without its end; false if none comes in time or it is too long. */
static bool line_read(int client, char line[LINE_MAX_BYTES])
{
	u32 count = 0;

	while (count < LINE_MAX_BYTES - 1) {
		ssize_t got = recv(client, line + count, 1, 0);

		if (got != 1)
			return false;
		if (line[count] == '\n') {
			line[count] = 0;
			return true;
		}
		count++;
	}
	return false;
}

static void answer(const struct control_server *self, char *line, struct strbuf *text)
{
	struct control_reply reply = {0};
	struct process *process;
	struct err err = {0};
	char *space = strchr(line, ' ');
	u64 pid;

	if (!space || !parse_number(space + 1, &pid) || pid > INT32_MAX) {
		strbuf_add(text, "error invalid request\n");
		return;
	}
	*space = 0;
	if (!control_find(self->control, (u32)pid, &process)) {
		strbuf_add(text, "unknown\n");
		return;
	}
	if (control_run(self->control, line, process, &reply, &err) < 0)
		strbuf_addf(text, "%s %s\n", err.code == ERR_USAGE ? "usage" : "error", err.text);
	else
		strbuf_addf(text, "ok\n%s", strbuf_text(&reply.lines));
	strbuf_release(&reply.lines);
}

static void client_serve(const struct control_server *self, int client)
{
	const struct timeval limit = {.tv_sec = CLIENT_SECONDS};
	struct strbuf text = {0};
	char line[LINE_MAX_BYTES];

	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!is_same_user(client))
		strbuf_add(&text, "error permission denied: only the user who started the "
				  "recording may control it\n");
	else if (line_read(client, line))
		answer(self, line, &text);
	else
		strbuf_add(&text, "error invalid request\n");
	/* SIGPIPE is ignored in a monitor; a client that has gone is no concern of ours. */
	send(client, strbuf_text(&text), text.count, MSG_NOSIGNAL);
	strbuf_release(&text);
}

static void *server_main(void *argument)
{
	struct control_server *self = argument;
	struct pollfd wait[] = {{.fd = self->socket, .events = POLLIN},
				{.fd = self->stop[0], .events = POLLIN}};

	for (;;) {
		int client;

		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (wait[1].revents)
			return NULL;
		client = accept4(self->socket, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		client_serve(self, client);
		close(client);
	}
}

/* ---- start and end --------------------------------------------------------------------------- */

static int socket_bind(struct control_server *self, const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(self->folder, sizeof(self->folder), "%s", folder);
	snprintf(self->path, sizeof(self->path), "%s/%d.sock", folder, (int)getpid());
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", self->path);
	if (!folder_make(folder))
		return -1;
	folder_tidy(folder);
	unlink(self->path);
	/* The folder keeps everybody else out until the mode is right. */
	if (bind(self->socket, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	if (chmod(self->path, 0600) == 0 && listen(self->socket, BACKLOG) == 0)
		return 0;
	unlink(self->path);
	return -1;
}

static int socket_open(struct control_server *self)
{
	char buffer[64];
	const char *folder;

	self->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (self->socket < 0)
		return -1;
	for (u32 i = 0; (folder = control_folder(i, buffer)); i++) {
		/* Another monitor that ends may remove the folder between two steps. */
		for (u32 try = 0; try < TRIES; try++) {
			if (socket_bind(self, folder) == 0)
				return 0;
		}
	}
	return -1;
}

static void files_close(struct control_server *self)
{
	if (self->socket >= 0)
		close(self->socket);
	if (self->stop[0] >= 0) {
		close(self->stop[0]);
		close(self->stop[1]);
	}
	self->socket = self->stop[0] = self->stop[1] = -1;
}

int control_server_start(struct control_server *self, struct control *control, struct err *err)
{
	int failure;

	self->control = control;
	self->stop[0] = self->stop[1] = -1;
	if (socket_open(self) < 0 || pipe2(self->stop, O_CLOEXEC) < 0) {
		err_set(err, ERR_SYSTEM, "cannot create a socket in %s: %s", self->folder,
			strerror(errno));
		files_close(self);
		return err->code;
	}
	failure = pthread_create(&self->thread, NULL, server_main, self);
	if (!failure)
		return 0;
	unlink(self->path);
	files_close(self);
	return err_set(err, ERR_SYSTEM, "cannot start a thread: %s", strerror(failure));
}

void control_server_stop(struct control_server *self)
{
	if (self->socket < 0)
		return;
	unlink(self->path);
	if (io_write_all(self->stop[1], "", 1, NULL) == 0)
		pthread_join(self->thread, NULL);
	files_close(self);
	rmdir(self->folder); /* if it was the last */
}
