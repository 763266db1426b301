/* SPDX-License-Identifier: MIT
 * What the HTTP server decides, without a network: addresses, names, tokens, replies as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "lib/test.h"
#include "show/serve/control_api.h"
#include "show/serve/editor.h"
#include "show/serve/server.h"

TEST(addresses, "an address is understood as its user means it, or refused")
{
	static const struct {
		const char *text, *name; /* NULL = refused */
		bool loopback;
	} rows[] = {
		{"8080", "127.0.0.1:8080", true},
		{"0", "127.0.0.1:0", true},
		{"65535", "127.0.0.1:65535", true},
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.9.8.7:1", "127.9.8.7:1", true},
		{"10.0.0.1:99", "10.0.0.1:99", false},
		{"0.0.0.0:99", "0.0.0.0:99", false},
		{"[::1]:99", "[::1]:99", true},
		{"[::]:99", "[::]:99", false},
		{"[0:0::0:1]:99", "[::1]:99", true},
		{"[::ffff:127.0.0.1]:99", "[::ffff:127.0.0.1]:99", false},
		{"", NULL, false},
		{":", NULL, false},
		{":80", NULL, false},
		{"[", NULL, false},
		{"[]", NULL, false},
		{"[]:", NULL, false},
		{"[]:80", NULL, false},
		{"[::1]", NULL, false},
		{"[::1:80", NULL, false},
		{"::1:80", NULL, false},
		{"65536", NULL, false},
		{"-1", NULL, false},
		{"80x", NULL, false},
		{"127.0.0.1", NULL, false},
		{"127.0.0.1:", NULL, false},
		{"127.1:80", NULL, false},
		{"localhost:80", NULL, false},
		{"[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]:80",
		 NULL, false},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		union listen_address address;
		char name[LISTEN_NAME_BYTES] = "";
		struct err err = {0};
		int status = listen_parse(&address, rows[i].text, &err);

		if (!rows[i].name) {
			test_check(status == ERR_INPUT && err.text[0], __FILE__, __LINE__,
				   "'%s' is refused", rows[i].text);
			continue;
		}
		address_name(&address, name);
		test_check(status == 0, __FILE__, __LINE__, "'%s' is taken", rows[i].text);
		CHECK_STR(name, rows[i].name);
		CHECK_EQ(address_is_loopback(&address), rows[i].loopback);
	}
}

TEST(hosts, "a Host is the server's own number, or localhost where that is true, with its port")
{
	static const struct {
		const char *address, *host;
		bool ours;
	} rows[] = {
		{"8080", "127.0.0.1:8080", true},
		{"8080", "localhost:8080", true},
		{"8080", "LocalHost:8080", true},
		{"8080", "127.0.0.1", false},
		{"8080", "127.0.0.1:80800", false},
		{"8080", "127.0.0.1:8081", false},
		{"8080", "127.0.0.2:8080", false},
		{"8080", "127.0.0.1:8080.example.org", false},
		{"8080", "localhost.example.org:8080", false},
		{"8080", "example.org:8080", false},
		{"8080", "", false},
		{"8080", NULL, false},
		{"80", "localhost", true},
		{"80", "127.0.0.1", true},
		{"80", "127.0.0.1:80", true},
		{"[::1]:8080", "[::1]:8080", true},
		{"[::1]:8080", "127.0.0.1:8080", false},
		{"10.0.0.1:8080", "10.0.0.1:8080", true},
		{"10.0.0.1:8080", "localhost:8080", false},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		union listen_address address;
		struct err err;

		CHECK_EQ(listen_parse(&address, rows[i].address, &err), 0);
		test_check(address_is_host(&address, rows[i].host) == rows[i].ours, __FILE__,
			   __LINE__, "%s for %s", rows[i].host ? rows[i].host : "no host",
			   rows[i].address);
	}
}

TEST(tokens, "a token has 128 random bits, and each of them counts")
{
	char token[TOKEN_CHARS + 1], other[TOKEN_CHARS + 1], longer[TOKEN_CHARS + 2];
	struct err err;

	CHECK_EQ(token_make(token, &err), 0);
	CHECK_EQ(token_make(other, &err), 0);
	CHECK_EQ(strlen(token), 32);
	CHECK_EQ(strspn(token, "0123456789abcdef"), 32);
	CHECK(strcmp(token, other) != 0);
	CHECK(token_is(token, token));
	CHECK(!token_is(token, other));
	CHECK(!token_is(token, NULL));
	CHECK(!token_is(token, ""));
	memcpy(longer, token, TOKEN_CHARS);
	strcpy(longer + TOKEN_CHARS, "0");
	CHECK(!token_is(token, longer));
	for (u32 i = 0; i < TOKEN_CHARS; i++) {
		memcpy(other, token, sizeof other);
		other[i] ^= 1;
		CHECK(!token_is(token, other));
	}
}

TEST(admission, "the first thing that is wrong with a request decides its status")
{
	static const char token[] = "00112233445566778899aabbccddeeff";
	const struct request right = {.method = "POST",
				      .path = "/",
				      .host = "127.0.0.1:8080",
				      .hosts = 1,
				      .mark = "1",
				      .token = token};
	const struct guard guard = {.token = token, .methods = "GET, POST", .body_max = 4096};
	struct request wrong[12];
	const u32 statuses[12] = {0, 421, 421, 421, 405, 403, 403, 403, 411, 413, 400, 0};
	union listen_address local;
	struct err err;

	for (u32 i = 0; i < 12; i++)
		wrong[i] = right;
	wrong[1].host = "example.org:8080";
	wrong[2].hosts = 2;
	wrong[3] = (struct request){.method = "BREW", .path = "/"};
	wrong[4].method = "DELETE";
	wrong[5].token = "00112233445566778899aabbccddeefe";
	wrong[6].authorization = "Basic 00112233445566778899aabbccddeeff";
	wrong[7].mark = NULL;
	wrong[8].chunked = true;
	wrong[9].body_length = "4097";
	wrong[10].body_length = "-1";
	wrong[11].body_length = "4096";
	CHECK_EQ(listen_parse(&local, "8080", &err), 0);
	for (u32 i = 0; i < 12; i++) {
		struct answer refusal = {0};

		CHECK_EQ(guard_admits(&guard, &wrong[i], &local, &refusal), statuses[i] == 0);
		CHECK_EQ(refusal.status, statuses[i]);
		CHECK_EQ(refusal.body != NULL, statuses[i] != 0);
		answer_release(&refusal);
	}
}

TEST(objects, "a reply's numbers are numbers, its texts are escaped, its caveats a list")
{
	char lines[] = "state paused\ncaveat one \"thing\"\ntrace /a b\\c\xff\npid 12\nbig "
		       "99999999999999999999\n"
		       "odd\nempty \n";
	struct answer answer = {0};

	control_api_object(lines, &answer);
	CHECK_EQ(answer.status, 200);
	CHECK_STR(answer.body,
		  "{\n  \"state\": \"paused\",\n  \"trace\": \"/a b\\\\c\xef\xbf\xbd\",\n"
		  "  \"pid\": 12,\n  \"big\": \"99999999999999999999\",\n  \"empty\": \"\",\n"
		  "  \"caveats\": [\n    \"one \\\"thing\\\"\"\n  ]\n}\n");
	answer_release(&answer);
}

/* ---- the server itself ----------------------------------------------------------------------- */

static u32 runs;

/* Longer than a client may be silent. */
static int take_long(struct control *self, struct process *process, struct control_reply *reply,
		     struct err *err)
{
	(void)self, (void)process, (void)err;
	add_relaxed(&runs, 1);
	nanosleep(&(struct timespec){.tv_sec = 6}, NULL);
	control_reply_add(reply, "took", "long");
	return 0;
}

static int take_none(struct control *self, struct process *process, struct control_reply *reply,
		     struct err *err)
{
	(void)self, (void)process, (void)reply, (void)err;
	add_relaxed(&runs, 1);
	return 0;
}

static void server_begin(struct server *server, struct control *control)
{
	static const struct control_verb slow = {.name = "take_long", .summary = "", .run = take_long};
	static const struct control_verb quick = {.name = "take_none", .summary = "", .run = take_none};
	struct site site = control_site(control);
	struct err err = {0};

	CHECK(control_register(&slow));
	CHECK(control_register(&quick));
	if (server_open(server, "0", &err) < 0 || server_start(server, &site, &err) < 0)
		FAIL("%s", err.text);
}

static int request_send(const struct server *server, const char *verb)
{
	char name[LISTEN_NAME_BYTES], text[512];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address_name(&server->listen.address, name);
	snprintf(text, sizeof text,
		 "POST /api/v1/control/%s HTTP/1.1\r\nHost: %s\r\nX-Heapwise: 1\r\n"
		 "Authorization: Bearer %s\r\nContent-Length: 0\r\n\r\n",
		 verb, name, server->token);
	if (connect(fd, &server->listen.address.any, sizeof(struct sockaddr_in)) < 0 ||
	    write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		FAIL("cannot send");
	return fd;
}

static void answer_read(int fd, char text[2048])
{
	size_t count = 0;
	ssize_t got;

	while (count < 2047 && (got = read(fd, text + count, 2047 - count)) > 0)
		count += (size_t)got;
	text[count] = 0;
	close(fd);
}

/* vim runs "+!command", and all take "-x" for an option. */
TEST(editor_files, "the name of a file is a path to every editor, whatever it is called")
{
	static const struct {
		const char *command, *file;
		const char *words[5];
	} rows[] = {
		{"vim", "+!touch x", {"gvim", "--remote-silent", "+7", "./+!touch x"}},
		{"vim", "-c!touch", {"gvim", "--remote-silent", "+7", "./-c!touch"}},
		{"emacs", "+eval", {"emacsclient", "-n", "+7", "./+eval"}},
		{"code", "vscode://x", {"code", "-g", "./vscode://x:7"}},
		{"kate", "~/x.c", {"kate", "-l", "7", "./~/x.c"}},
		{"clion", "/src/+x.c", {"clion", "--line", "7", "/src/+x.c"}},
		{"ed --at=%l --file=%f  %f", "+x", {"ed", "--at=7", "--file=+x", "./+x"}},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *words[EDITOR_WORDS + 1];
		struct editor editor = {0};
		struct err err = {0};
		u32 k;

		CHECK(editor_parse(&editor, rows[i].command, &err) == 0);
		CHECK(editor_words(&editor, rows[i].file, 7, words));
		for (k = 0; k < 5 && rows[i].words[k]; k++)
			CHECK_STR(words[k], rows[i].words[k]);
		CHECK(!words[k]);
		editor_words_free(words);
	}
}

TEST(patience, "a verb that takes longer than a client may be silent is answered")
{
	struct drain drain = {0}; /* nothing is recorded */
	struct control control = {.drain = &drain};
	struct server server;
	char text[2048];

	server_begin(&server, &control);
	answer_read(request_send(&server, "take_long"), text);
	CHECK(strncmp(text, "HTTP/1.1 200 ", 13) == 0);
	CHECK(strstr(text, "\"took\": \"long\"") != NULL);
	server_close(&server);
}

TEST(crowd, "requests at the same time are all answered, also beside one that takes long")
{
	struct drain drain = {0}; /* nothing is recorded */
	struct control control = {.drain = &drain};
	struct server server;
	char text[2048];
	int sockets[60], slow;

	server_begin(&server, &control);
	slow = request_send(&server, "take_long");
	for (u32 round = 0; round < 5; round++) {
		for (u32 i = 0; i < 60; i++)
			sockets[i] = request_send(&server, "take_none");
		for (u32 i = 0; i < 60; i++) {
			answer_read(sockets[i], text);
			CHECK(strncmp(text, "HTTP/1.1 200 ", 13) == 0);
		}
	}
	CHECK_EQ(load_relaxed(&runs), 301);
	answer_read(slow, text);
	CHECK(strncmp(text, "HTTP/1.1 200 ", 13) == 0);
	server_close(&server);
}

TEST(farewell, "a server that stops answers what is under way, and frees its port")
{
	struct drain drain = {0}; /* nothing is recorded */
	struct control control = {.drain = &drain};
	struct server server, next;
	struct err err = {0};
	char name[LISTEN_NAME_BYTES], text[2048];
	int fd;

	server_begin(&server, &control);
	fd = request_send(&server, "take_none");
	while (!load_relaxed(&runs))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	address_name(&server.listen.address, name);
	server_close(&server);
	answer_read(fd, text);
	CHECK(strncmp(text, "HTTP/1.1 200 ", 13) == 0);
	CHECK_EQ(server_open(&next, name, &err), 0);
	server_close(&next);
}
