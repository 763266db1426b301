/* SPDX-License-Identifier: MIT
 * Names and headers of indexes.
 * Host. Never follows a link to an index, never opens one of another user: he could shorten it
 * while it is mapped. */
#include "study/model/index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/trace/block.h"

enum { SAMPLE_BYTES = 8192, NAME_BYTES = 100 };

bool index_identify(const char *path, struct trace_identity *identity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	u8 sample[SAMPLE_BYTES];
	struct stat st;
	u64 got, tail;
	bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	if (good) {
		*identity = (struct trace_identity){.bytes = (u64)st.st_size,
						    .modified_s = (u64)st.st_mtim.tv_sec,
						    .modified_ns = (u64)st.st_mtim.tv_nsec};
		tail = identity->bytes > SAMPLE_BYTES ? identity->bytes - SAMPLE_BYTES : 0;
		good = io_read_at(fd, sample, SAMPLE_BYTES, 0, &got) == 0;
		identity->head = good ? checksum(sample, got) : 0;
		good = good && io_read_at(fd, sample, SAMPLE_BYTES, tail, &got) == 0;
		identity->tail = good ? checksum(sample, got) : 0;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

void index_header_seal(struct index_header *header)
{
	header->magic = INDEX_MAGIC;
	header->layout = index_layout();
	header->checksum = checksum(header, offsetof(struct index_header, checksum));
}

static bool header_fits(const struct index_header *header, u64 file_bytes)
{
	return header->magic == INDEX_MAGIC && header->layout == index_layout() &&
	       header->checksum == checksum(header, offsetof(struct index_header, checksum)) &&
	       header->file_bytes == file_bytes && header->small_offset >= INDEX_PAGE &&
	       header->small_offset % INDEX_PAGE == 0 && header->small_offset <= file_bytes &&
	       header->small_bytes == file_bytes - header->small_offset;
}

static bool is_of(const struct index_header *header, const struct trace_identity *trace, int image)
{
	if (memcmp(&header->trace, trace, sizeof *trace) != 0)
		return false;
	return image < 0 ? header->is_last_image == 1 : header->image == (u64)image;
}

int index_open_fresh(const char *index_path, const struct trace_identity *trace, int image,
		     struct index_header *header)
{
	int fd = open(index_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	u64 got;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    io_read_at(fd, header, sizeof *header, 0, &got) == 0 && got == sizeof *header &&
	    header_fits(header, (u64)st.st_size) && is_of(header, trace, image))
		return fd;
	close(fd);
	return -1;
}

static void add_ending(struct strbuf *out, int image)
{
	if (image >= 0)
		strbuf_addf(out, ".image%d", image);
	strbuf_add(out, ".index");
}

/* Traces of one name have different ones there, by their folders. */
static void cache_path(const char *path, int image, struct strbuf *out)
{
	char *whole = realpath(path, NULL);
	const char *name = whole ? strrchr(whole, '/') : NULL;

	if (name && io_user_folder("XDG_CACHE_HOME", ".cache", out)) {
		strbuf_addf(out, "/heapwise/%.*s-%016" PRIx64, NAME_BYTES, name + 1,
			    checksum(whole, strlen(whole)));
		add_ending(out, image);
	}
	free(whole);
}

void index_path(const char *path, int image, u32 place, struct strbuf *out)
{
	strbuf_clear(out);
	if (place) {
		cache_path(path, image, out);
		return;
	}
	strbuf_add(out, path);
	add_ending(out, image);
}
