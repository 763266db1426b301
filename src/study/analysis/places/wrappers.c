/* SPDX-License-Identifier: MIT
 * Tells allocator wrappers by their names.
 * Host. A name is cut into words at underscores, digits and capitals: sqlite3DbMallocRaw is sqlite,
 * Db, Malloc, Raw. */
#include "study/analysis/places/wrappers.h"

#include <ctype.h>
#include <string.h>

#include "study/analysis/places/stacks.h"
#include "study/analysis/places/suppressions.h"
#include "host/base/strbuf.h"

static int add_name(struct wrappers *self, const char *word, size_t bytes, struct err *err)
{
	struct strbuf pattern = {0};
	const char *mine;

	strbuf_add_char(&pattern, '^');
	strbuf_add_bytes(&pattern, word, bytes);
	strbuf_add_char(&pattern, '$');
	mine = pattern.failed ? NULL : arena_copy(&self->arena, strbuf_text(&pattern));
	strbuf_release(&pattern);
	if (!mine || !vec_push(&self->patterns, mine))
		return err_memory(err);
	return 0;
}

/* The words of a list; "auto" is a name like others if it has no meaning of its own. */
static int add_list(struct wrappers *self, const char *words, bool has_auto, const char *expected,
		    struct err *err)
{
	for (const char *word = words;;) {
		size_t bytes = strcspn(word, ",");

		if (!bytes)
			return err_set(err, ERR_USAGE, "%s, not '%s'", expected, words);
		if (has_auto && bytes == 4 && strncmp(word, "auto", 4) == 0)
			self->automatic = true;
		else if (add_name(self, word, bytes, err) < 0)
			return err->code;
		if (!word[bytes])
			return 0;
		word += bytes + 1;
	}
}

int wrappers_parse(struct wrappers *self, const char *words, struct err *err)
{
	if (strcmp(words, "none") == 0)
		return 0;
	return add_list(self, words, true,
			"--wrappers must be 'auto', 'none' or names separated by commas", err);
}

int wrappers_add(struct wrappers *self, const char *names, struct err *err)
{
	return add_list(self, names, false, "--wrapper must be names separated by commas", err);
}

void wrappers_release(struct wrappers *self)
{
	vec_release(&self->patterns);
	arena_release(&self->arena);
}

/* ---- names ---- */

/* The last part of a qualified name: without parameters, template arguments, namespaces and the
 * return type that templates carry. ns::Pool<int>::allocate(unsigned long) is allocate. */
static const char *bare_name(const char *function, struct strbuf *out)
{
	const char *start = function, *end = function + strcspn(function, "(");
	u32 depth = 0;

	/* Parameters begin at a bracket outside of <…>, and operator() is no name of a wrapper. */
	for (const char *p = function; *p; p++) {
		if (*p == '<')
			depth++;
		else if (*p == '>' && depth)
			depth--;
		else if (depth == 0 && *p == '(') {
			end = p;
			break;
		} else if (depth == 0 && *p == ':' && p[1] == ':')
			start = p + 2;
		else if (depth == 0 && *p == ' ' && strncmp(start, "operator", 8) != 0)
			start = p + 1;
	}
	strbuf_clear(out);
	strbuf_add_bytes(out, start, end > start ? (u64)(end - start) : 0);
	if (out->text && strchr(out->text, '<'))
		out->text[out->count = strcspn(out->text, "<")] = 0;
	return strbuf_text(out);
}

/* The next word of a name in small letters; false at the end. */
static bool next_word(const char **name, char word[32])
{
	const char *p = *name;
	u32 count = 0;

	while (*p && !isalpha((u8)*p))
		p++;
	while (isalpha((u8)*p) && count < 31) {
		/* A capital begins a word after a small letter, or before one: "DBFree" is db,
		 * free. */
		if (count && isupper((u8)*p) && (islower((u8)p[-1]) || islower((u8)p[1])))
			break;
		word[count++] = (char)tolower((u8)*p++);
	}
	word[count] = 0;
	*name = p;
	return count > 0;
}

static bool ends_with(const char *word, const char *end)
{
	size_t bytes = strlen(word), want = strlen(end);

	return bytes >= want && strcmp(word + bytes - want, end) == 0;
}

static bool ends_with_any(const char *word, const char *const *ends)
{
	for (; *ends; ends++)
		if (ends_with(word, *ends))
			return true;
	return false;
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

static bool says_allocates(const char *name)
{
	static const char *const ends[] = {"alloc",  "allocate", "reallocarray", "memalign",
					   "strdup", "strndup",  "wcsdup",       NULL};
	char word[32];

	if (strncmp(name, "operator new", 12) == 0)
		return true;
	while (next_word(&name, word))
		if (ends_with_any(word, ends) && !ends_with(word, "dealloc") &&
		    !ends_with(word, "deallocate"))
			return true;
	return false;
}

/* Words that do not say what is allocated or freed. */
static const char *const empty[] = {"c",        "checked", "custom", "db",     "debug", "default",
				    "do",       "g",       "heap",   "hook",   "impl",  "int",
				    "internal", "je",      "lib",    "libc",   "mem",   "memory",
				    "mi",       "my",      "nn",     "p",      "perl",  "php",
				    "ptr",      "py",      "pymem",  "raw",    "real",  "safe",
				    "sqlite",   "std",     "sys",    "system", "tc",    "wrap",
				    "wrapped",  "wrapper", "x",      "xml",    "z",     "zend",
				    NULL};

/* Besides the C library's name for it there may be words that say how, but none that says what. */
static bool says_allocator(const char *name)
{
	static const char *const ends[] = {"malloc",       "calloc",   "realloc",
					   "reallocarray", "memalign", "strdup",
					   "strndup",      "wcsdup",   NULL};
	static const char *const how[] = {"aligned", "array", "cold", "constprop", "die",  "isra",
					  "nofail",  "or",    "part", "try",       "zero", NULL};
	bool allocates = false;
	char word[32];

	while (next_word(&name, word)) {
		if (ends_with_any(word, ends))
			allocates = true;
		else if (!is_one_of(word, empty) && !is_one_of(word, how))
			return false;
	}
	return allocates;
}

/* list_free destroys a list, xfree frees anything: besides "free" there must be no word that says
 * of what. */
static bool says_frees(const char *name)
{
	bool frees = false;
	char word[32];

	if (strncmp(name, "operator delete", 15) == 0)
		return true;
	while (next_word(&name, word)) {
		if (ends_with(word, "dealloc") || ends_with(word, "deallocate"))
			return true;
		if (ends_with(word, "free") || ends_with(word, "realloc"))
			frees = true;
		else if (!is_one_of(word, empty))
			return false;
	}
	return frees;
}

static bool is_listed(const struct wrappers *self, const char *function, const char *name)
{
	for (u64 i = 0; i < self->patterns.count; i++)
		if (suppression_matches(self->patterns.data[i], function) ||
		    suppression_matches(self->patterns.data[i], name))
			return true;
	return false;
}

static bool looks_through(const struct wrappers *self, const char *function,
			  bool (*says)(const char *))
{
	struct strbuf buffer = {0};
	const char *name = bare_name(function, &buffer);
	bool is = is_listed(self, function, name) ||
		  (self->automatic && (function_is_minor(function, "") || says(name)));

	strbuf_release(&buffer);
	return is;
}

bool wrappers_allocates(const struct wrappers *self, const char *function)
{
	return looks_through(self, function, says_allocates);
}

bool wrappers_frees(const struct wrappers *self, const char *function)
{
	return looks_through(self, function, says_frees);
}

static bool name_says(const char *function, bool (*says)(const char *))
{
	struct strbuf buffer = {0};
	bool is = says(bare_name(function, &buffer));

	strbuf_release(&buffer);
	return is;
}

bool wrapper_name_allocates(const char *function) { return name_says(function, says_allocates); }
bool wrapper_name_is_allocator(const char *function) { return name_says(function, says_allocator); }
