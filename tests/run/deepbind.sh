#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deepbind.sh run|lazy|sealed|search|watch|access|again   a module that is loaded with RTLD_DEEPBIND allocates, frees what others allocated, and
# is recorded as all others; on a heap of ours it does not hand our blocks to the C library.
. "$(dirname "$0")/lib.sh"
source=$(cd "$(dirname "$0")/../targets" && pwd)/deepbind.c
cd "$work" || exit 1

# build FLAG...   of the module; host: the compiler of the program
host=(cc)
build()
{
	"${host[@]}" -O1 -fno-builtin "$source" -o host -ldl || fail "does not build"
	cc -O1 -fno-builtin -DPLUGIN -fPIC -shared "$@" "$source" -o plugin.so -ldl || fail "does not build"
	equal "alone" "$(./host "$PWD/plugin.so" now)" ok
}

# sums TRACE SIZE...   of each size 100 allocations and as many frees
sums()
{
	for size in "${@:2}"; do
		equal "blocks of $size" "$("$HEAPWISE" trace dump "$1" | awk -v size="$size" '$1 !~ /^#/ && $5 == size && $3 != "duration" {
			if ($3 == "free") frees++; else allocs++ } END { print allocs + 0, frees + 0 }')" "100 100"
	done
}
all="1301 1302 1303 1310 1305 1306"

# known TRACE   all is there, but what a constructor allocates before it does anything else that is seen, and what is freed by a pointer that
# dlsym gave to the module
known()
{
	equal "lost events" "$(field "$1" .lost_events)" 0
	equal "frees of what the constructor allocated" "$(field "$1" .unknown_frees)" 100
	at_least "blocks that are freed by a pointer" 100 "$(field "$1" .implied_frees)"
}

case $1 in
run | lazy | sealed)
	build "$([ "$1" = sealed ] && echo -Wl,-z,now,-z,relro || echo -Wl,-z,lazy)"
	record trace --no-symbols -- ./host "$PWD/plugin.so" "$([ "$1" = lazy ] && echo lazy || echo now)" >out
	equal "status" "$status" 0
	equal "output" "$(cat out)" ok
	known trace
	sums trace $all
	# The first copy that the C library makes for the constructor tells of the module.
	equal "copies" "$("$HEAPWISE" trace dump trace | awk '$5 == 1308 && $3 == "malloc"' | wc -l)" 100
	at_least "copies freed" "$("$HEAPWISE" trace dump trace | awk '$5 == 1308 && $3 == "free"' | wc -l)" 100
	;;
search) # by name, in the folders that the host names
	cc -O1 -fno-builtin "$source" -o host -ldl -Wl,-rpath,"$PWD" || fail "does not build"
	cc -O1 -fno-builtin -DPLUGIN -fPIC -shared "$source" -o plugin.so -ldl || fail "does not build"
	equal "alone" "$(./host plugin.so now)" ok
	record trace --no-symbols -- ./host plugin.so now >out
	equal "status" "$status" 0
	equal "output" "$(cat out)" ok
	known trace
	sums trace $all
	;;
watch)
	build
	for policy in mpc all; do
		"$HEAPWISE" watch --batch 0 --policy $policy -o watched.json -- ./host "$PWD/plugin.so" now >out 2>stderr
		equal "status ($policy)" "$?" 0
		equal "output" "$(cat out)" ok
	done
	;;
access)
	host=("$HEAPWISE" cc)
	build
	for mode in exact adaptive; do
		record trace --no-symbols --access $mode -- ./host "$PWD/plugin.so" now >out
		equal "status ($mode)" "$status" 0
		equal "output" "$(cat out)" ok
		sums trace $all
	done
	;;
again) # unloaded and loaded again, by two threads
	cat >again.c <<-'PROGRAM'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <pthread.h>
		#include <stdlib.h>
		static void *run(void *path)
		{
			for (int i = 0; i < 50; i++) {
				void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
				void **module = dlsym(library, "module");
				free(((void *(*)(void))module[1])());
				dlclose(library);
			}
			return NULL;
		}
		int main(int argc, char **argv)
		{
			pthread_t other;
			pthread_create(&other, NULL, run, argv[argc - 1]);
			run(argv[1]);
			return pthread_join(other, NULL);
		}
	PROGRAM
	cc -O1 -fno-builtin again.c -o again -ldl -pthread || fail "does not build"
	for letter in a b; do
		cc -O1 -fno-builtin -DPLUGIN -fPIC -shared "$source" -o $letter.so -ldl || fail "does not build"
	done
	record trace --no-symbols -- ./again "$PWD/a.so" "$PWD/b.so"
	equal "status" "$status" 0
	whole trace
	sums trace 1302
	;;
esac
finish
