// SPDX-License-Identifier: MIT
// Blocks of 1,237 bytes from C's malloc, of which every second is freed, on threads of Go's; and work in Go's own heap.
package main

/*
#include <stdlib.h>
static void *block(size_t size) { return malloc(size); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"unsafe"
)

func main() {
	var group sync.WaitGroup
	kept := make(chan unsafe.Pointer, 1000)
	for thread := 0; thread < 6; thread++ {
		group.Add(1)
		go func() {
			defer group.Done()
			runtime.LockOSThread()
			for i := 0; i < 100; i++ {
				p, q := C.malloc(1237), C.block(1237)
				C.free(p)
				kept <- q
			}
		}()
	}
	group.Wait()
	texts := map[string]int{}
	for i := 0; i < 50000; i++ {
		texts[strings.Repeat("x", i%97)+fmt.Sprint(i%501)] += i
	}
	keys := []string{}
	for key := range texts {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	runtime.GC()
	fmt.Println(len(keys), keys[77], texts[keys[77]])
	func() {
		defer func() { fmt.Println(recover()) }()
		var none *int
		fmt.Println(*none)
	}()
	fmt.Println("truth", 1200, 600, len(kept) == 600)
	os.Exit(3)
}
