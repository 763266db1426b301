/* SPDX-License-Identifier: MIT
 * deepbind PLUGIN now|lazy   host of a module that is loaded with RTLD_DEEPBIND, and (with -DPLUGIN) the module itself: it looks for
 * functions in the C library before it looks at what was loaded before all others. Blocks go from each of the two to the
 * other; each of the sizes is allocated 100 times and freed as often. Prints "ok" if all bytes are where they should be. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 100, OF_HOST = 1301, OF_MODULE = 1302, OWN = 1303, GROWN = 1310, TABLE = 1305, ALIGNED = 1306, BEGUN = 1307, TEXT = 1308 };

struct module {
	void (*take)(void *block);
	void *(*make)(void);
	int (*work)(char *buffer);
};

#ifdef PLUGIN

/* So that the words are relocated as data. */
static struct {
	void *(*get)(size_t);
	void (*put)(void *);
} table = {malloc, free};

static char *begun[TIMES];

/* Runs before dlopen has returned. The C library allocates copies by whatever malloc comes first. */
__attribute__((constructor)) static void begin(void)
{
	char text[TEXT];

	memset(text, 'x', TEXT - 1);
	text[TEXT - 1] = 0;
	for (int i = 0; i < TIMES; i++)
		begun[i] = malloc(BEGUN);
	for (int i = 0; i < TIMES; i++)
		free(strdup(text));
}

static void take(void *block)
{
	if (*(char *)block != 'h')
		abort();
	free(block);
}

static void *make(void) { return memset(malloc(OF_MODULE), 'm', OF_MODULE); }

static int work(char *buffer)
{
	void (*found)(void *);
	int fd = open("/dev/zero", O_RDONLY);

	*(void **)&found = dlsym(RTLD_DEFAULT, "free");
	for (int i = 0; i < TIMES; i++) {
		char *own = malloc(OWN), *grown = malloc(GROWN - 1), *listed = table.get(TABLE);
		void *aligned = NULL;

		if (malloc_usable_size(own) < OWN || posix_memalign(&aligned, 256, ALIGNED) != 0)
			return 1;
		memset(grown, 'g', GROWN - 1);
		grown = realloc(grown, GROWN);
		if (grown[GROWN - 2] != 'g')
			return 2;
		free(own);
		free(grown);
		table.put(listed);
		free(aligned);
		free(begun[i]);
		found(strdup("by a pointer"));
	}
	/* Memory of the host's, which the kernel writes to. */
	for (int i = 0; i < 200; i++) {
		buffer[0] = 1;
		usleep(5000);
		if (read(fd, buffer, 4096) != 4096 || buffer[0])
			return 3;
	}
	return close(fd);
}

struct module module = {take, make, work};

#else

int main(int argc, char **argv)
{
	char *buffer = malloc(8192);
	struct module *module;
	void *library;

	if (argc < 3)
		return 2;
	library = dlopen(argv[1], RTLD_DEEPBIND | (strcmp(argv[2], "lazy") == 0 ? RTLD_LAZY : RTLD_NOW));
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	module = dlsym(library, "module");
	for (int i = 0; i < TIMES; i++) {
		char *made;

		module->take(memset(malloc(OF_HOST), 'h', OF_HOST));
		made = module->make();
		if (made[OF_MODULE - 1] != 'm')
			return 4;
		free(made);
	}
	if (module->work(buffer))
		return 5;
	free(buffer);
	puts("ok");
	return 0;
}

#endif
