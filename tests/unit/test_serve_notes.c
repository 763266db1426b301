/* SPDX-License-Identifier: MIT
 * Notes about findings: what is written can be read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/test.h"
#include "show/serve/notes.h"

enum { FILE_MAX = 32 << 20, ESCAPED = 6 * NOTE_TEXT_MAX };

/* As many notes as a file can have, each of characters that are escaped; how many. */
static u64 fill(const char *path)
{
	FILE *file = fopen(path, "w");
	u64 count = 0;

	fputs("{\"notes\": [", file);
	for (; ftell(file) < FILE_MAX - 2 * ESCAPED; count++) {
		fprintf(file,
			"%s{\"finding\": \"x-%llu\", \"status\": \"open\", "
			"\"changed\": \"2026-11-18T09:30:00Z\", \"text\": \"",
			count ? "," : "", (unsigned long long)count);
		for (u32 i = 0; i < NOTE_TEXT_MAX; i++)
			fputs("\\u0001", file);
		fputs("\"}", file);
	}
	fputs("]}", file);
	fclose(file);
	return count;
}

static u64 count_of(const char *trace)
{
	struct notes notes = {0};
	struct err err = {0};
	u64 count;

	CHECK_EQ(notes_read(trace, &notes, &err), 0);
	count = notes.list.count;
	notes_release(&notes);
	return count;
}

TEST(limit, "notes that could not be read again are not written")
{
	char folder[] = "/tmp/heapwise-notes-XXXXXX", trace[64], path[80];
	char text[NOTE_TEXT_MAX + 1];
	struct note note = {.finding = "more", .status = "fixed", .text = text};
	struct err err = {0};
	int status = 0;
	u64 count;

	memset(text, 1, NOTE_TEXT_MAX);
	text[NOTE_TEXT_MAX] = '\0';
	if (!mkdtemp(folder))
		FAIL("mkdtemp");
	snprintf(trace, sizeof trace, "%s/a.hwt", folder);
	snprintf(path, sizeof path, "%s.notes.json", trace);
	count = fill(path);
	CHECK_EQ(count_of(trace), count);
	for (u32 i = 0; i < 4 && status == 0; i++) {
		char finding[16];

		snprintf(finding, sizeof finding, "more-%u", i);
		note.finding = finding;
		status = notes_write(trace, &note, &err);
		count += status == 0;
	}
	CHECK_EQ(status, ERR_USAGE);
	CHECK_EQ(count_of(trace), count);
	unlink(path);
	CHECK_EQ(rmdir(folder), 0);
}
