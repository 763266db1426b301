/* SPDX-License-Identifier: MIT
 * Files that a client sends, where there is no space for them or too many are begun. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/base/io.h"
#include "lib/test.h"
#include "show/serve/uploads.h"

static char bytes[3000];

static int put(struct uploads *self, u32 *number, u64 offset, struct err *err)
{
	struct upload_piece piece = {.name = "a.hwt",
				     .number = *number,
				     .offset = offset,
				     .bytes = bytes,
				     .count = sizeof bytes};
	int status = uploads_put(self, &piece, err);

	*number = piece.number;
	return status;
}

/* Whether the file of an upload is there. */
static bool is_kept(const struct uploads *self, u32 number)
{
	struct strbuf path = {0};
	bool kept;

	strbuf_addf(&path, "%s/%u", strbuf_text(&self->folder), number);
	kept = access(strbuf_text(&path), F_OK) == 0;
	strbuf_release(&path);
	return kept;
}

TEST(full, "of a file that cannot be written nothing is left")
{
	struct uploads uploads = {0};
	struct rlimit before, limit;
	struct err err = {0};
	u32 number = 0;

	uploads_init(&uploads);
	CHECK_EQ(put(&uploads, &number, 0, &err), 0);
	CHECK_EQ(uploads.bytes, sizeof bytes);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){4000, before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	CHECK_EQ(put(&uploads, &number, sizeof bytes, &err), ERR_SYSTEM);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(!is_kept(&uploads, number));
	CHECK_EQ(uploads.bytes, 0);
	CHECK_EQ(put(&uploads, &number, sizeof bytes, &err), ERR_INPUT);
	uploads_release(&uploads);
}

TEST(space, "what is sent does not fill the disk")
{
	struct uploads uploads = {0};
	struct err err = {0};
	u32 number = 0;

	uploads_init(&uploads);
	uploads.bytes = UINT64_MAX >> 1; /* as if so much had been sent */
	CHECK_EQ(put(&uploads, &number, 0, &err), ERR_SYSTEM);
	CHECK(strstr(err.text, "not enough space for 'a.hwt'"));
	CHECK(!is_kept(&uploads, 1));
	uploads_release(&uploads);
}

TEST(unfinished, "one more than can be unfinished ends the one that waits longest")
{
	struct uploads uploads = {0};
	struct err err = {0};
	u32 numbers[UPLOADS_MAX + 1] = {0};

	uploads_init(&uploads);
	for (u32 i = 0; i < UPLOADS_MAX; i++)
		CHECK_EQ(put(&uploads, &numbers[i], 0, &err), 0);
	CHECK_EQ(put(&uploads, &numbers[0], sizeof bytes, &err), 0);
	CHECK_EQ(put(&uploads, &numbers[UPLOADS_MAX], 0, &err), 0);
	CHECK(is_kept(&uploads, numbers[0]) && !is_kept(&uploads, numbers[1]));
	CHECK_EQ(put(&uploads, &numbers[1], sizeof bytes, &err), ERR_INPUT);
	CHECK_EQ(put(&uploads, &numbers[0], 2 * sizeof bytes, &err), 0);
	CHECK_EQ(uploads.bytes, (UPLOADS_MAX + 2) * sizeof bytes);
	uploads_release(&uploads);
}
