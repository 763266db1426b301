/* SPDX-License-Identifier: MIT
 * How host code reports failure: functions return 0 or one of these negative codes, and fill a
 * struct err with a sentence for the user. Library rooms never print and never exit.
 *
 *	if (fd < 0)
 *		return err_set(err, ERR_INPUT, "cannot open %s: %s", path, strerror(errno));
 */
#ifndef HOST_BASE_ERR_H
#define HOST_BASE_ERR_H

enum err_code {
	ERR_USAGE = -2,  /* exit status 2 */
	ERR_INPUT = -3,  /* bad or unreadable input: exit status 3 */
	ERR_SYSTEM = -4, /* the system refused: exit status 3 */
	ERR_MEMORY = -5, /* out of memory: exit status 3 */
};

struct err {
	int code;
	char text[1024]; /* one sentence, no newline, no full stop at the end */
};

/* Fills err (which may be NULL) and returns code. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "out of memory", and for what: err_memory_for(err, "the symbols of %s", path). Both return
 * ERR_MEMORY. */
int err_memory(struct err *err);
int err_memory_for(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " before the text that is there; returns err->code. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
