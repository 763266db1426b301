/* SPDX-License-Identifier: MIT
 * Environment lookup. Runs in the target, possibly before libc is initialised; then the kernel is
 * asked for what the image was started with. */
#include "target/recorder/state/environment.h"

#include <fcntl.h>
#include <unistd.h>

#include "target/recorder/state/memory.h"
#include "target/recorder/state/sys.h"

static bool from_libc(const char *name, char *value, size_t bytes)
{
	size_t n = hwr_length(name);

	for (char **entry = environ; *entry; entry++) {
		const char *text = *entry + n + 1;

		if (!hwr_same(*entry, name, n) || (*entry)[n] != '=')
			continue;
		if (!*text || hwr_length(text) >= bytes)
			return false;
		hwr_copy(value, text, hwr_length(text) + 1);
		return true;
	}
	return false;
}

/* A search in a stream of bytes: an environment may be larger than any buffer here. */
struct search {
	const char *name;
	size_t name_bytes;
	char *value;
	size_t bytes;
	size_t matched, kept;
	bool inside; /* the value of the wanted entry */
	bool skip;   /* the rest of this entry */
};

/* True when the wanted entry is complete. */
static bool search_byte(struct search *s, char c)
{
	if (s->inside && c && s->kept < s->bytes - 1)
		s->value[s->kept++] = c;
	else if (s->inside)
		return true;
	else if (c == 0)
		s->matched = s->skip = 0;
	else if (!s->skip && s->matched == s->name_bytes && c == '=')
		s->inside = true;
	else if (!s->skip && s->matched < s->name_bytes && c == s->name[s->matched])
		s->matched++;
	else
		s->skip = true;
	return false;
}

static bool from_kernel(const char *name, char *value, size_t bytes)
{
	struct search s = {.name = name,
			   .name_bytes = hwr_length(name),
			   .value = value,
			   .bytes = bytes};
	bool found = false;
	char buffer[256];
	long n;
	int fd = hwr_open("/proc/self/environ", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (!found && (n = hwr_read(fd, buffer, sizeof buffer)) > 0)
		for (long i = 0; i < n && !found; i++)
			found = search_byte(&s, buffer[i]);
	hwr_close(fd);
	value[s.kept] = 0;
	return found && s.kept > 0;
}

bool hwr_environment(const char *name, char *value, size_t bytes)
{
	return (environ && from_libc(name, value, bytes)) || from_kernel(name, value, bytes);
}
