// SPDX-License-Identifier: MIT
// verdict: kind=lost function=header_add not=xmalloc,xstrdup bytes=2880000 chunks=48000
// A reader of mail headers. Everything allocates by xmalloc and xstrdup; a header that comes twice replaces the old value without free.
#include "noise.h"

enum { MAILS = 12000, HEADERS = 12, VALUE = 60 };

static void *xmalloc(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		abort();
	return memory;
}

static char *xstrdup(const char *text)
{
	return strcpy(xmalloc(strlen(text) + 1), text);
}

struct header {
	char *name, *value;
};

struct mail {
	struct header headers[HEADERS];
	unsigned count;
	char *body;
};

APART static void header_add(struct mail *mail, const char *name, const char *value)
{
	unsigned at = 0;

	while (at < mail->count && strcmp(mail->headers[at].name, name))
		at++;
	if (at == mail->count)
		mail->headers[mail->count++].name = xstrdup(name);
	mail->headers[at].value = xstrdup(value); /* the flaw: the old one is overwritten */
}

APART static struct mail *mail_read(unsigned number)
{
	struct mail *mail = xmalloc(sizeof *mail);
	char name[32], value[VALUE];

	memset(mail, 0, sizeof *mail);
	noise_fill(value, sizeof value);
	for (unsigned i = 0; i < HEADERS; i++) {
		snprintf(name, sizeof name, "X-Header-%u", i % (HEADERS - 4));
		value[0] = (char)('a' + i);
		header_add(mail, name, value);
	}
	mail->body = xmalloc(2000 + number % 500);
	memset(mail->body, 'b', 2000 + number % 500);
	return mail;
}

APART static void mail_free(struct mail *mail)
{
	for (unsigned i = 0; i < mail->count; i++) {
		free(mail->headers[i].name);
		free(mail->headers[i].value);
	}
	free(mail->body);
	free(mail);
}

int main(void)
{
	unsigned headers = 0;

	noise_start();
	for (unsigned i = 0; i < MAILS; i++) {
		struct mail *mail = mail_read(i);

		headers += mail->count;
		noise_turn(i);
		mail_free(mail);
	}
	printf("%u headers\n", headers);
	noise_end();
	return 0;
}
