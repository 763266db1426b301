#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=peak,growth function=json_load_file not=jsonp_malloc
# source: https://github.com/akheron/jansson/issues/332: a document takes five times the size of its text.
. "$(dirname "$0")/lib"
needs_header jansson.h libjansson-dev
cat >load.c <<'END'
#include <jansson.h>
#include <stdio.h>

int main(void)
{
	json_t *document = json_load_file("document.json", 0, NULL);

	printf("%zu\n", json_array_size(document));
	json_decref(document);
	return 0;
}
END
gcc -O1 -g -o load load.c -ljansson
awk 'BEGIN {
	for (i = 0; i < 30000; i++)
		printf "%s{\"id\": %d, \"ok\": true, \"value\": %d.5, \"name\": \"name %d\"}\n", i ? "," : "[", i, i, i
	print "]"
}' >document.json
record ./load
