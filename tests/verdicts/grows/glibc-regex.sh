#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: pattern re_state_table_entry|re_dfastate_t|re_dfa_t
# source: https://sourceware.org/bugzilla/show_bug.cgi?id=12567, met by https://github.com/neomutt/neomutt/pull/1712: the states of a compiled regular
#         expression are kept as long as it is. As it is.
. "$(dirname "$0")/lib"
needs gcc
cat >match.c <<'END'
#include <regex.h>
#include <stdlib.h>

static regex_t pattern;

int main(void)
{
	char text[41] = "";

	if (regcomp(&pattern, "(a|b)*a(a|b){9}c", REG_EXTENDED | REG_NOSUB))
		return 1;
	for (int i = 0; i < 300; i++) {
		for (int k = 0; k < 40; k++)
			text[k] = rand() % 2 ? 'a' : 'b';
		regexec(&pattern, text, 0, NULL, 0);
	}
	return 0;
}
END
gcc -O1 -g -o match match.c
record ./match
