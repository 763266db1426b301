/* SPDX-License-Identifier: MIT
 * Two libraries that take turns at one address: dlopen, call, dlclose. What the recorder knows of
 * code at an address must be forgotten with the module. Usage: reuse A.so B.so */
#define _GNU_SOURCE
#include "stacks.h"

#include <dlfcn.h>

typedef void visit_fn(int depth, void (*touch)(size_t));

static void touch(size_t size) { stacks_touch(size); }

/* Returns where the library was. */
static void *visit_library(const char *path, int depth)
{
	void *library = dlopen(path, RTLD_NOW);
	visit_fn *visit;
	Dl_info info;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	visit = (visit_fn *)dlsym(library, "library_visit");
	if (!visit || !dladdr((void *)visit, &info))
		exit(1);
	visit(depth, touch);
	dlclose(library);
	return info.dli_fbase;
}

int main(int argc, char **argv)
{
	void *last = NULL;
	int reused = 0;

	if (argc != 3)
		return 2;
	for (int round = 0; round < 60; round++) {
		void *base = visit_library(argv[1 + round % 2], 1 + round % 13);

		reused += base == last;
		last = base;
	}
	fprintf(stderr, "base reused %d times\n", reused);
	stacks_done();
	/* A run without reuse tests nothing: qemu-user's mmap does not come back to an address soon. */
	return reused > 0 ? 0 : 77;
}
