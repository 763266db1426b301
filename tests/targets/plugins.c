/* SPDX-License-Identifier: MIT
 * plugins PLUGIN...   a C program: its first C++ library comes, and goes away, with a plugin. Once the
 * recorder called the operators of the first plugin when the second one had taken its place. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		int (*work)(void) = NULL;

		if (plugin)
			*(void **)&work = dlsym(plugin, "plugin_work");
		if (!work || work() != 45)
			return 1;
		dlclose(plugin);
		/* Whatever comes next must not land where the plugin was. */
		mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	return 0;
}
