/* SPDX-License-Identifier: MIT
 * Decodes GNAT's names, as its unit exp_dbug.ads describes them.
 * Host. Any text is safe. */
#include "host/symbols/ada_names.h"

#include <ctype.h>
#include <string.h>

#include "host/symbols/type_text.h"

bool ada_is_certain(const char *linker_name)
{
	static const char *const starts[] = {"_ada_", "ada__", "system__", "gnat__",
					     "interfaces__"};

	return text_starts_any(linker_name, starts);
}

bool ada_is_possible(const char *linker_name)
{
	return islower((unsigned char)linker_name[0]) && strstr(linker_name, "__") &&
	       strspn(linker_name,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
		       strlen(linker_name);
}

/* What the compiler put behind the name: the number of an overloaded one ("__3"), and that it is in
 * the body of a package ("X", "Xb", "Xn"), of a task ("TKB") or a copy (".48", ".part.0"). */
static size_t without_ending(const char *name)
{
	size_t bytes = strcspn(name, "."), digits, body = bytes;

	while (body && (name[body - 1] == 'b' || name[body - 1] == 'n'))
		body--;
	if (body && name[body - 1] == 'X')
		bytes = body - 1;
	if (bytes > 3 && memcmp(name + bytes - 3, "TKB", 3) == 0)
		bytes -= 3;
	for (digits = 0; digits < bytes && isdigit((unsigned char)name[bytes - 1 - digits]);)
		digits++;
	if (digits && bytes > digits + 2 && memcmp(name + bytes - digits - 2, "__", 2) == 0)
		bytes -= digits + 2;
	return bytes;
}

/* An operator, "Oadd": behind it, or NULL. */
static const char *add_operator(struct strbuf *out, const char *p, const char *end)
{
	static const char *const operators[][2] = {
		{"Oabs", "abs"},    {"Oand", "and"},  {"Omod", "mod"},    {"Onot", "not"},
		{"Oor", "or"},      {"Orem", "rem"},  {"Oxor", "xor"},    {"Oeq", "="},
		{"One", "/="},      {"Olt", "<"},     {"Ole", "<="},      {"Ogt", ">"},
		{"Oge", ">="},      {"Oadd", "+"},    {"Osubtract", "-"}, {"Oconcat", "&"},
		{"Omultiply", "*"}, {"Odivide", "/"}, {"Oexpon", "**"},
	};

	for (u32 i = 0; i < sizeof operators / sizeof *operators; i++) {
		size_t bytes = strlen(operators[i][0]);

		if ((size_t)(end - p) < bytes || memcmp(p, operators[i][0], bytes) != 0 ||
		    (p + bytes < end && p[bytes] != '_'))
			continue;
		strbuf_addf(out, "\"%s\"", operators[i][1]);
		return p + bytes;
	}
	return NULL;
}

void ada_name_add(struct strbuf *out, const char *linker_name)
{
	const char *p = linker_name + (span_starts(span_of(linker_name), "_ada_") ? 5 : 0),
		   *end = p + without_ending(p);

	while (p < end) {
		const char *behind = *p == 'O' ? add_operator(out, p, end) : NULL;

		if (behind) {
			p = behind;
		} else if (end - p == 8 && memcmp(p, "___elab", 7) == 0 &&
			   (p[7] == 'b' || p[7] == 's')) {
			strbuf_add(out, p[7] == 'b' ? "'elab_body" : "'elab_spec");
			p = end;
		} else if (end - p > 2 && p[0] == '_' && p[1] == '_' && p[2] != '_') {
			strbuf_add_char(out, '.');
			p += 2;
		} else {
			strbuf_add_char(out, *p++);
		}
	}
}
