/* SPDX-License-Identifier: MIT
 * Lines of the text form → messages, and what is known of routines.
 * Host. A line that does not fit is an error that names it; nothing is guessed. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "show/formats/emad.h"

/* ---- words and numbers ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Takes the next word out of *text, which then is at the word after it; "" at the end. */
static char *take_word(char **text)
{
	char *word, *p = *text;

	while (is_blank(*p))
		p++;
	word = p;
	while (*p && !is_blank(*p))
		p++;
	if (*p)
		*p++ = 0;
	while (is_blank(*p))
		p++;
	*text = p;
	return word;
}

/* All of the word, in that base; false if it is no number or too large. */
static bool number_of(const char *word, u32 base, u64 *number)
{
	char *end;

	if (base == 16 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X'))
		word += 2;
	if (!isxdigit((unsigned char)*word))
		return false;
	errno = 0;
	*number = strtoull(word, &end, (int)base);
	return *end == 0 && errno == 0;
}

/* A size or an address, and one more is a number, too (an import keeps it so). */
static bool is_argument(const char *word)
{
	u64 number;

	return (number_of(word, 10, &number) && number != UINT64_MAX) ||
	       (number_of(word, 16, &number) && number != UINT64_MAX);
}

static bool number_u32(const char *word, u32 *number)
{
	u64 wide;

	if (!number_of(word, 10, &wide) || wide > UINT32_MAX)
		return false;
	*number = (u32)wide;
	return true;
}

static int bad(struct err *err, const char *what, const char *word)
{
	return err_set(err, ERR_INPUT, "%s, not '%.100s'", what, word);
}

int emad_parse(char *text, u64 line, struct emad_message *message, struct err *err)
{
	size_t length = strlen(text);
	char *word;

	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = 0;
	*message = (struct emad_message){.line = line};
	word = take_word(&text);
	if (!*word)
		return 1;
	if (!number_u32(word, &message->thread))
		return bad(err, "expected a thread number at the start of the line", word);
	word = take_word(&text);
	if (!number_u32(word, &message->routine))
		return bad(err, "expected a routine number after the thread", word);
	word = take_word(&text);
	message->exits = strcmp(word, "exit") == 0;
	if (!message->exits && strcmp(word, "start") != 0)
		return bad(err, "expected 'start' or 'exit' after the routine", word);
	if (!*text)
		return err_set(err, ERR_INPUT, "the name of the routine is missing");
	message->rest = text;
	return 0;
}

/* ---- a first reading ---- */

/* What follows the name in rest, "" if nothing does; NULL if rest does not begin with the name. */
static const char *after_name(const char *rest, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(rest, name, length) != 0 || (rest[length] && !is_blank(rest[length])))
		return NULL;
	rest += length;
	while (is_blank(*rest))
		rest++;
	return rest;
}

/* Length of a text without its last word and the blanks before that; 0 if it has one word only. */
static u64 before_last(const char *text, u64 length)
{
	while (length && !is_blank(text[length - 1]))
		length--;
	while (length && is_blank(text[length - 1]))
		length--;
	return length;
}

/* Length of the name in a first message: less what may be an argument, of an exit what may be a
 * time, and an address before that. */
static u64 name_length(const struct emad_message *message)
{
	const char *text = message->rest;
	u64 length = strlen(text), shorter = before_last(text, length), number;
	const char *last = text + shorter + strspn(text + shorter, " \t");
	char word[40];

	if (!shorter || (message->exits ? !number_of(last, 10, &number) : !is_argument(last)))
		return length;
	if (!message->exits)
		return shorter;
	length = shorter;
	shorter = before_last(text, length);
	last = text + shorter + strspn(text + shorter, " \t");
	if (!shorter || (u64)(text + length - last) >= sizeof(word))
		return length;
	memcpy(word, last, (size_t)(text + length - last));
	word[text + length - last] = 0;
	return number_of(word, 16, &number) ? shorter : length;
}

static struct emad_routine *routine_find(const struct emad_routines *self, u32 number)
{
	const u64 *index = map_find(&self->by_number, number);

	return index ? &self->list.data[*index - 1] : NULL;
}

static struct emad_routine *routine_add(struct emad_routines *self,
					const struct emad_message *message)
{
	struct emad_routine fresh = {.number = message->routine, .line = message->line};
	u64 length = name_length(message);

	fresh.full = arena_copy(&self->arena, message->rest);
	fresh.name = arena_copy_text(&self->arena, message->rest, length);
	fresh.settled = message->exits || message->rest[length] == 0;
	if (!fresh.full || !fresh.name || !vec_push(&self->list, fresh) ||
	    !map_put(&self->by_number, message->routine, self->list.count))
		return NULL;
	return &self->list.data[self->list.count - 1];
}

static int other_name(const struct emad_routine *routine, const struct emad_message *message,
		      struct err *err)
{
	return err_set(err, ERR_INPUT, "routine %u is '%.100s' here, but '%.100s' in line %llu",
		       message->routine, message->rest, routine->name,
		       (unsigned long long)routine->line);
}

static int learn_start(struct emad_routine *routine, const struct emad_message *message,
		       struct err *err)
{
	const char *argument = after_name(message->rest, routine->name);
	u64 number;

	if (!routine->settled && strcmp(message->rest, routine->full) != 0)
		routine->settled = true; /* the last word changes: it is an argument */
	if (!argument)
		return other_name(routine, message, err);
	if (!*argument)
		return 0;
	if (!is_argument(argument))
		return bad(err, "expected nothing, a size or an address after the name of a start",
			   argument);
	if (!routine->argument_line)
		routine->argument_line = message->line;
	if (!routine->hexadecimal_line && !number_of(argument, 10, &number))
		routine->hexadecimal_line = message->line;
	return 0;
}

static int learn_kind(struct emad_routine *routine, enum emad_kind kind, struct err *err)
{
	if (routine->kind != EMAD_PLAIN && routine->kind != kind)
		return err_set(err, ERR_INPUT,
			       "routine %u (%.100s) %s here, but not in earlier lines",
			       routine->number, routine->name,
			       kind == EMAD_FREES ? "frees" : "allocates");
	routine->kind = kind;
	return 0;
}

/* Cuts the numbers of an exit: how many there are, or -1. */
static int exit_numbers(const char *text, u64 numbers[2])
{
	char words[2][40] = {"", ""};
	int count = 0;

	while (*text) {
		size_t length = strcspn(text, " \t");

		if (count == 2 || length >= sizeof(words[0]))
			return -1;
		memcpy(words[count], text, length);
		words[count++][length] = 0;
		text += length;
		while (is_blank(*text))
			text++;
	}
	if (count == 2 && !number_of(words[0], 16, &numbers[0]))
		return -1;
	if (count && !number_of(words[count - 1], 10, &numbers[1]))
		return -1;
	return count;
}

static int learn_exit(struct emad_routine *routine, const struct emad_message *message,
		      struct err *err)
{
	const char *numbers = after_name(message->rest, routine->name);
	u64 values[2];
	int count;

	if (!routine->settled && strcmp(message->rest, routine->full) == 0) {
		/* What looked like an argument is a part of the name. */
		routine->name = routine->full;
		routine->settled = true;
		routine->argument_line = routine->hexadecimal_line = 0;
		return 0;
	}
	if (!numbers)
		return other_name(routine, message, err);
	routine->settled = true;
	count = exit_numbers(numbers, values);
	if (count < 0)
		return bad(err,
			   "expected nothing, a time, or an address and a time after the name of "
			   "an exit",
			   numbers);
	if (count == 0)
		return 0;
	return learn_kind(routine, count == 2 ? EMAD_ALLOCATES : EMAD_FREES, err);
}

int emad_learn(struct emad_routines *self, const struct emad_message *message, struct err *err)
{
	struct emad_routine *routine = routine_find(self, message->routine);

	if (!routine)
		routine = routine_add(self, message);
	if (!routine)
		return err_memory_for(err, "the routines of the text");
	return message->exits ? learn_exit(routine, message, err)
			      : learn_start(routine, message, err);
}

/* A routine with arguments of which no exit says what it is. */
static enum emad_kind kind_by_name(const struct emad_routine *routine)
{
	if (routine->hexadecimal_line || strstr(routine->name, "free") ||
	    strstr(routine->name, "delete"))
		return EMAD_FREES;
	return EMAD_ALLOCATES;
}

int emad_settle(struct emad_routines *self, struct err *err)
{
	for (u64 i = 0; i < self->list.count; i++) {
		struct emad_routine *routine = &self->list.data[i];

		if (routine->kind == EMAD_PLAIN && routine->argument_line)
			routine->kind = kind_by_name(routine);
		if (routine->kind == EMAD_ALLOCATES && routine->hexadecimal_line)
			return err_set(err, ERR_INPUT,
				       "line %llu: the size that %.100s allocates is not a decimal "
				       "number",
				       (unsigned long long)routine->hexadecimal_line,
				       routine->name);
	}
	return 0;
}

void emad_routines_release(struct emad_routines *self)
{
	vec_release(&self->list);
	map_release(&self->by_number);
	arena_release(&self->arena);
}

/* ---- a second reading ---- */

int emad_understand(const struct emad_routines *self, const struct emad_message *message,
		    struct emad_facts *facts, struct err *err)
{
	const char *rest;
	u64 values[2] = {0, 0};
	int count;

	*facts = (struct emad_facts){.routine = routine_find(self, message->routine)};
	rest = facts->routine ? after_name(message->rest, facts->routine->name) : NULL;
	if (!rest)
		return err_set(err, ERR_INPUT, "the file changed while it was read");
	if (!message->exits) {
		facts->has_argument = *rest != 0;
		if (*rest && !number_of(rest, facts->routine->kind == EMAD_FREES ? 16 : 10,
					&facts->argument))
			return bad(err, "expected a size or an address", rest);
		return 0;
	}
	count = exit_numbers(rest, values);
	facts->has_result = count == 2;
	facts->has_time = count > 0;
	facts->address = values[0];
	facts->time = values[1];
	return 0;
}
