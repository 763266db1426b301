/* SPDX-License-Identifier: MIT
 * The tool's side of joining a recording; see join.h. Runs in the tool, on the thread that
 * listens. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/strbuf.h"
#include "format/atomics.h"
#include "live/control/control_server.h"
#include "live/drain/futex.h"
#include "live/drain/join.h"

static const u64 WAIT_NS = 200000000;

/* ---- joining --------------------------------------------------------------------------------- */

/* The value of a line of a reply. */
static bool reply_find(const char *reply, const char *key, char *value, size_t room)
{
	size_t length = strlen(key);

	for (const char *line = reply; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, key, length) != 0 || line[length] != ' ')
			continue;
		line += length + 1;
		length = strcspn(line, "\n");
		if (length >= room)
			return false;
		memcpy(value, line, length);
		value[length] = 0;
		return true;
	}
	return false;
}

static int memory_map(struct join_listener *self, const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat status;
	void *memory;

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &status) < 0 || (u64)status.st_size != sizeof(*self->memory)) {
		close(fd);
		return err_set(err, ERR_INPUT,
			       "the monitor is another version of heapwise; use "
			       "the same version for both");
	}
	memory = mmap(NULL, sizeof(*self->memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return err_set(err, ERR_MEMORY, "out of memory to join the recording");
	self->memory = memory;
	if (self->memory->magic != JOIN_MAGIC || self->memory->version != JOIN_VERSION) {
		join_close(self);
		return err_set(err, ERR_INPUT,
			       "the monitor is another version of heapwise; use "
			       "the same version for both");
	}
	store_relaxed(&self->memory->pid, (u32)getpid());
	return 0;
}

int join_open(struct join_listener *self, u32 pid, struct err *err)
{
	struct strbuf reply = {0};
	char path[64], monitor[16];
	int status;

	memset(self, 0, sizeof(*self));
	status = control_call(pid, "join", &reply, err);
	if (status < 0) {
		strbuf_release(&reply);
		return status;
	}
	if (reply_find(strbuf_text(&reply), "join", path, sizeof(path)) &&
	    reply_find(strbuf_text(&reply), "monitor_pid", monitor, sizeof(monitor))) {
		self->monitor_pid = (u32)strtoul(monitor, NULL, 10);
		status = memory_map(self, path, err);
	} else {
		status = err_set(err, ERR_INPUT, "the monitor's answer names no place to join");
	}
	strbuf_release(&reply);
	return status;
}

void join_close(struct join_listener *self)
{
	if (!self->memory)
		return;
	store_release(&self->memory->left, 1);
	munmap(self->memory, sizeof(*self->memory));
	self->memory = NULL;
}

/* ---- listening ------------------------------------------------------------------------------- */

static void ring_read(const struct join_listener *self, u64 from, void *bytes, u64 count)
{
	u64 at = from % JOIN_BYTES, first = JOIN_BYTES - at < count ? JOIN_BYTES - at : count;

	memcpy(bytes, self->memory->data + at, first);
	memcpy((u8 *)bytes + first, self->memory->data, count - first);
}

/* The path and the build id lie behind it. */
static int module_tell(const struct tap *tap, const u8 *bytes, u64 count, struct err *err)
{
	struct stream_module module;
	const u8 *path = bytes + sizeof(module), *end;

	if (count <= sizeof(module) || !tap->sink.module)
		return 0;
	memcpy(&module, bytes, sizeof(module));
	end = memchr(path, 0, count - sizeof(module));
	if (!end)
		return 0;
	module.path = (const char *)path;
	module.build_id = end + 1;
	module.build_id_bytes = (u32)(bytes + count - module.build_id);
	return tap->sink.module(tap->sink.self, &module, err);
}

static void moment_tell(struct join_listener *self, const struct tap *tap, u32 kind,
			const void *bytes, u64 count)
{
	if (kind == JOIN_HIT && tap->hit && count == sizeof(struct tap_hit))
		tap->hit(tap->self, bytes);
	if (kind == JOIN_DONE && tap->done && count == sizeof(struct hw_command))
		tap->done(tap->self, bytes);
	if (kind != JOIN_CYCLE || count != sizeof(self->cycle))
		return;
	memcpy(&self->cycle, bytes, sizeof(self->cycle));
	if (tap->cycle)
		tap->cycle(tap->self, NULL, self->cycle.now_ns);
}

static int tell(struct join_listener *self, const struct join_handlers *handlers,
		const struct join_message *message, const void *bytes, struct err *err)
{
	const struct stream_sink *sink = &handlers->tap.sink;
	u64 count = message->bytes;

	switch (message->kind) {
	case JOIN_IMAGE:
		return count == sizeof(struct stream_image) ? stream_tell(sink, image, bytes, err)
							    : 0;
	case JOIN_MODULE: return module_tell(&handlers->tap, bytes, count, err);
	case JOIN_CONTEXTS:
		return stream_tell(sink, contexts, bytes, count / sizeof(struct stream_context),
				   err);
	case JOIN_BLOCKS:
		return handlers->blocks(sink->self, bytes, count / sizeof(struct join_block), err);
	case JOIN_EVENTS:
		return stream_tell(sink, events, bytes, count / sizeof(struct event), err);
	case JOIN_END:
		return count == sizeof(struct stream_image_end)
			       ? stream_tell(sink, image_end, bytes, err)
			       : 0;
	}
	moment_tell(self, &handlers->tap, message->kind, bytes, count);
	return 0;
}

/* Messages are shorter than the ring is long, but one may still be on its way. True if one was
 * read. */
static bool message_next(struct join_listener *self, const struct join_handlers *handlers,
			 struct err *err)
{
	static _Alignas(8) u8 bytes[JOIN_BYTES]; /* a tool listens to one recording at a time */
	/* pairs with the monitor's release */
	u64 there = load_acquire(&self->memory->head) - self->tail;
	struct join_message message;
	u64 whole;

	if (there < sizeof(message) || there > JOIN_BYTES)
		return false;
	ring_read(self, self->tail, &message, sizeof(message));
	whole = sizeof(message) + (((u64)message.bytes + 7) & ~(u64)7);
	if (whole > there)
		return false;
	ring_read(self, self->tail + sizeof(message), bytes, message.bytes);
	self->tail += whole;
	store_release(&self->memory->tail, self->tail); /* pairs with the monitor's acquire */
	return tell(self, handlers, &message, bytes, err) == 0;
}

static bool monitor_is_gone(const struct join_listener *self)
{
	return kill((pid_t)self->monitor_pid, 0) < 0 && errno == ESRCH;
}

int join_listen(struct join_listener *self, const struct join_handlers *handlers, const bool *stop,
		struct err *err)
{
	while (!*stop) {
		u32 bell = load_acquire(&self->memory->bell);
		/* before the last look: nothing comes after it */
		u32 state = load_acquire(&self->memory->state);

		if (message_next(self, handlers, err))
			continue;
		if (err->code)
			return err->code;
		if (state == JOIN_TOO_SLOW)
			return err_set(err, ERR_SYSTEM,
				       "the tool was too slow for the program's events");
		if (state == JOIN_ENDED)
			return 0;
		if (monitor_is_gone(self))
			return err_set(err, ERR_SYSTEM, "the monitor has ended");
		futex_wait(&self->memory->bell, bell, WAIT_NS);
	}
	return 0;
}

bool join_command(struct join_listener *self, u32 verb, u64 address, u64 birth)
{
	struct join_memory *memory = self->memory;

	if (self->commands_head - load_acquire(&memory->commands_tail) >= HW_COMMANDS)
		return false;
	memory->commands[self->commands_head % HW_COMMANDS] =
		(struct hw_command){.address = address, .birth = birth, .verb = (u16)verb};
	/* pairs with the monitor's acquire */
	store_release(&memory->commands_head, ++self->commands_head);
	return true;
}
