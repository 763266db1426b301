/* SPDX-License-Identifier: MIT
 * Headers and bodies of answers; see send.h. Runs on threads of the server. */
#include "show/serve/send.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
	STREAM_SILENCE_SECONDS =
		30, /* in which a client must take something of what is sent to it */
	STREAM_SEND_BYTES = 32 << 10, /* that wait in the kernel for a client that is slow */
	STREAM_PIECE_BYTES = 8 << 10,
};

/* Nothing that is loaded by a page may come from elsewhere, and no other page may show ours. */
#define CSP_NOTHING "default-src 'none'; frame-ancestors 'none'"
#define CSP_PAGE                                                                                   \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void headers_conditional(struct MHD_Response *response, const struct answer *answer)
{
	char number[16];

	if (answer->allow)
		mhd.add_response_header(response, "Allow", answer->allow);
	if (answer->location)
		mhd.add_response_header(response, "Location", answer->location);
	if (answer->cookie[0])
		mhd.add_response_header(response, "Set-Cookie", answer->cookie);
	if (answer->tag[0])
		mhd.add_response_header(response, "ETag", answer->tag);
	if (answer->gzip)
		mhd.add_response_header(response, "Content-Encoding", "gzip");
	if (answer->retry_seconds) {
		snprintf(number, sizeof(number), "%u", answer->retry_seconds);
		mhd.add_response_header(response, "Retry-After", number);
	}
}

static void headers_add(struct MHD_Response *response, const struct answer *answer, u64 run_ns)
{
	static const char *const headers[][2] = {
		{"Vary", "Accept, Accept-Encoding"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"}, /* the token may be in the address */
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Connection", "close"},
	};
	u64 parts_ns = answer->parse_ns + answer->write_ns;
	char timing[128];

	for (u32 i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		mhd.add_response_header(response, headers[i][0], headers[i][1]);
	mhd.add_response_header(response, "Content-Type",
				answer->type ? answer->type : "application/json");
	/* What may be stored is asked for again each time, by its tag: tomorrow another trace may
	 * be served at this address. */
	mhd.add_response_header(response, "Cache-Control",
				answer->tag[0] ? "private, no-cache" : "no-store");
	mhd.add_response_header(response, "Content-Security-Policy",
				answer->is_page ? CSP_PAGE : CSP_NOTHING);
	snprintf(timing, sizeof(timing), "parse;dur=%.3f, run;dur=%.3f, write;dur=%.3f",
		 (double)answer->parse_ns / 1e6,
		 (double)(run_ns > parts_ns ? run_ns - parts_ns : 0) / 1e6,
		 (double)answer->write_ns / 1e6);
	mhd.add_response_header(response, "Server-Timing", timing);
	headers_conditional(response, answer);
}

static ssize_t stream_read(void *stream_, u64 at, char *to, size_t room)
{
	struct answer_stream *stream = stream_;
	size_t bytes = stream->read(stream->self, to, room);

	(void)at;
	return bytes ? (ssize_t)bytes : MHD_CONTENT_READER_END_OF_STREAM;
}

static void stream_free(void *stream_)
{
	struct answer_stream *stream = stream_;

	stream->free(stream->self);
	free(stream);
}

/* A client that is slow is to be seen here soon, and not after megabytes in the kernel. */
static struct MHD_Response *stream_response(struct MHD_Connection *connection,
					    const struct answer_stream *from)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct answer_stream *stream = malloc(sizeof *stream);
	struct MHD_Response *response;
	const int bytes = STREAM_SEND_BYTES;

	if (!stream) {
		from->free(from->self);
		return NULL;
	}
	*stream = *from;
	if (info)
		setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	mhd.set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
				  (unsigned int)STREAM_SILENCE_SECONDS);
	response = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE_BYTES,
						     stream_read, stream, stream_free);
	if (!response)
		stream_free(stream);
	return response;
}

enum MHD_Result answer_send(struct MHD_Connection *connection, struct answer *answer, u64 run_ns)
{
	struct MHD_Response *response;
	enum MHD_Result result = MHD_NO;

	if (!answer->body && !answer->stream.read)
		return MHD_NO; /* without memory: the connection ends */
	if (answer->stream.read)
		response = stream_response(connection, &answer->stream);
	else
		response = mhd.create_response_from_buffer(answer->body_bytes, answer->body,
							   MHD_RESPMEM_MUST_FREE);
	if (!response) {
		answer_release(answer);
		return MHD_NO;
	}
	headers_add(response, answer, run_ns);
	result = mhd.queue_response(connection, answer->status, response);
	mhd.destroy_response(response);
	return result;
}
