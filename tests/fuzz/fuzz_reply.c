/* SPDX-License-Identifier: MIT
 * What a server of a store may answer, and addresses that a user may give. */
#include <stdlib.h>
#include <string.h>

#include "show/fleet/store.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void read_reply(const u8 *data, size_t size)
{
	struct reply reply = {0};
	struct numbers numbers = {0};
	char *fields[3];
	u64 ids[8], count;

	strbuf_add_bytes(&reply.text, data, size);
	while (reply_row(&reply, fields, 3))
		for (u32 i = 0; i < 3; i++) {
			reply_numbers(fields[i], &numbers);
			if (reply_ids(fields[i], ids, 8, &count) && count > 8)
				abort();
		}
	vec_release(&numbers.rows);
	reply_release(&reply);
}

static void read_address(const u8 *data, size_t size)
{
	struct strbuf text = {0};
	struct store store = {0};
	struct err err = {0};

	strbuf_add(&text, "clickhouse://");
	strbuf_add_bytes(&text, data, size);
	store_open(&store, strbuf_text(&text), &err);
	address_hide_password(text.text);
	store_close(&store);
	strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	read_reply(data, size);
	if (size < 256)
		read_address(data, size);
	return 0;
}
