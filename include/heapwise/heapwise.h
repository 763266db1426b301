/* SPDX-License-Identifier: MIT
 * Control of recording from inside a program. Header only: the functions call the recorder if it is loaded
 * and do nothing otherwise, so a program can keep these calls in production and needs no library to link.
 * heapwise-api(3) describes them in detail.
 *
 *	#include <heapwise/heapwise.h>
 *
 *	heapwise_pause();                 // keep set-up out of the profile
 *	load_configuration();
 *	heapwise_resume();
 *	heapwise_phase_begin("requests"); // shown by info, dump and the JSON report
 *	serve_requests();
 *	heapwise_phase_end("requests");
 *	heapwise_restart("shutdown.hwt"); // later events go to a separate file
 *
 * All functions can be called from any thread. In a signal handler only heapwise_state, heapwise_pause,
 * heapwise_resume and marks without a callback are safe. errno is changed only if -1 is returned.
 * If nothing is recorded, functions that return int do nothing and return 0. */
#ifndef HEAPWISE_H
#define HEAPWISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of the recorder; weak, so that they may be missing. */
int heapwise_recorder_state(void) __attribute__((weak));
void heapwise_recorder_pause(int paused) __attribute__((weak));
int heapwise_recorder_stop(void) __attribute__((weak));
int heapwise_recorder_restart(const char *filename) __attribute__((weak));
int heapwise_recorder_save(void) __attribute__((weak));
int heapwise_recorder_dump(const char *filename, int freed) __attribute__((weak));
void heapwise_recorder_autosave(uint64_t count) __attribute__((weak));
void heapwise_recorder_mark(uint64_t number, int snapshot) __attribute__((weak));
void heapwise_recorder_name(int what, const char *name) __attribute__((weak));
void heapwise_recorder_type(const void *pointer, const void *type, const char *name, uint64_t count)
	__attribute__((weak));
void heapwise_recorder_on_snapshot(void (*callback)(void *), void *argument) __attribute__((weak));
void heapwise_recorder_poll(void) __attribute__((weak));
void heapwise_recorder_object(int what, uint64_t address, uint64_t size, const char *type) __attribute__((weak));

enum {
	HEAPWISE_ABSENT = 0,    /* not run under Heapwise */
	HEAPWISE_DORMANT = 1,   /* recorder loaded, but this process is not, or no longer, recorded */
	HEAPWISE_RECORDING = 2,
	HEAPWISE_PAUSED = 3
};

/* Returns one of the above. */
static inline int heapwise_state(void)
{
	return heapwise_recorder_state ? heapwise_recorder_state() : HEAPWISE_ABSENT;
}

/* ---- which allocations are recorded ---- */

/* Stops recording allocations; frees of recorded blocks are still recorded. */
static inline void heapwise_pause(void)
{
	if (heapwise_recorder_pause)
		heapwise_recorder_pause(1);
}

static inline void heapwise_resume(void)
{
	if (heapwise_recorder_pause)
		heapwise_recorder_pause(0);
}

/* ---- the file ---- */

/* Saves the trace after every `count` allocations of the process, so that these events are in the file
 * even if the program and its monitor are killed. With 0, the default, the trace is saved about once per
 * second and at the end. The program does not wait: the file is complete up to the count-th allocation
 * within about 0.1 s. */
static inline void heapwise_autosave(uint64_t count)
{
	if (heapwise_recorder_autosave)
		heapwise_recorder_autosave(count);
}

/* Saves now: when it returns 0, everything that this thread has done so far is in the file. Returns -1
 * and sets errno, after at most 10 seconds, if that was not possible. */
static inline int heapwise_save(void)
{
	return heapwise_recorder_save ? heapwise_recorder_save() : 0;
}

/* Writes a text dump (HeapLog version 4, see heapwise-export(1)): live memory with its allocation stacks and, if
 * `freed` is not 0, freed memory. filename NULL: a name beside the trace, with the next number. When it
 * returns 0 the dump is complete; it may contain what other threads did in the meantime. Returns -1 and sets
 * errno after at most 10 seconds; a dump that takes longer is still written. */
static inline int heapwise_dump(const char *filename, int freed)
{
	return heapwise_recorder_dump ? heapwise_recorder_dump(filename, freed) : 0;
}

/* Ends the recording; the program continues unrecorded. When it returns 0 the file is complete and
 * closed. Returns -1 and sets errno, after at most 10 seconds, if the monitor has not finished yet;
 * recording has ended even so. */
static inline int heapwise_stop(void)
{
	return heapwise_recorder_stop ? heapwise_recorder_stop() : 0;
}

/* Starts a new recording in `filename`, which is replaced if it exists. A running recording is ended as
 * by heapwise_stop. Blocks that were allocated before are unknown in the new file. Relative names are
 * relative to the current working directory. Returns -1 and sets errno if that is not possible; the
 * previous recording then continues. */
static inline int heapwise_restart(const char *filename)
{
	return heapwise_recorder_restart ? heapwise_recorder_restart(filename) : 0;
}

/* ---- moments ---- */

/* Writes a mark with this number to the trace. With 'heapwise run --owners=marks' this and the functions below also have
 * the memory scanned, and return when it has been read. */
static inline void heapwise_mark(uint64_t number)
{
	if (heapwise_recorder_mark)
		heapwise_recorder_mark(number, 0);
}

/* Marks and phases with names. Names are cut after 59 bytes, and a recording keeps 1,023 different
 * names. Phases can overlap; a phase lasts from its begin to the next end with the same name. */
static inline void heapwise_mark_named(const char *name)
{
	if (heapwise_recorder_name)
		heapwise_recorder_name(0, name);
}

static inline void heapwise_phase_begin(const char *name)
{
	if (heapwise_recorder_name)
		heapwise_recorder_name(1, name);
}

static inline void heapwise_phase_end(const char *name)
{
	if (heapwise_recorder_name)
		heapwise_recorder_name(2, name);
}

/* ---- types ---- */

/* Declares the contents of the block that the pointer points into: `count` elements (0: unknown) of the type
 * with this name. Names have the same limits as those of marks. C++ programs can use heapwise/types.hpp,
 * which needs no names. A later call for the same block replaces an earlier one. Returns the pointer. */
static inline void *heapwise_set_type(void *pointer, const char *name, uint64_t count)
{
	if (heapwise_recorder_type && name)
		heapwise_recorder_type(pointer, (const void *)0, name, count);
	return pointer;
}

/* ---- objects that the program manages itself ---- */

/* Record an object that an interpreter or a pool allocates, with the name of its type (NULL: unknown), and that it was
 * freed or collected. Such objects are in the trace beside malloc's blocks, with the kind "pool" and the stack of the call.
 * The memory that contains them is recorded as usual if it comes from malloc. Names have the limits of heapwise_set_type.
 * Two live objects must not have the same address; an object and a malloc block may. To write traces with the functions
 * of the interpreted language, use heapwise/writer.h. */
static inline void heapwise_alloc(const void *pointer, uint64_t size, const char *type)
{
	if (heapwise_recorder_object && pointer)
		heapwise_recorder_object(0, (uintptr_t)pointer, size, type);
}

static inline void heapwise_free(const void *pointer)
{
	if (heapwise_recorder_object && pointer)
		heapwise_recorder_object(1, (uintptr_t)pointer, 0, (const char *)0);
}

/* Records that code which 'heapwise cc' did not instrument, such as that of a just-in-time compiler, read or wrote this
 * many bytes. With --access exact or adaptive it counts as an access to the malloc block that contains them. */
static inline void heapwise_access(const void *pointer, uint64_t bytes, int written)
{
	if (heapwise_recorder_object && bytes)
		heapwise_recorder_object(written ? 3 : 2, (uintptr_t)pointer, bytes, (const char *)0);
}

/* ---- snapshots ---- */

/* Takes a snapshot; 'heapwise trace info' shows what was live at that moment. */
static inline void heapwise_snapshot(void)
{
	if (heapwise_recorder_mark)
		heapwise_recorder_mark(0, 1);
}

/* Calls callback(argument) before each snapshot; NULL removes the callback. There is one callback per
 * process. The thread that calls heapwise_snapshot calls it. For a snapshot requested from outside
 * (heapwise ctl), the next thread that calls any function of this header except heapwise_state and
 * heapwise_autosave does so, because only then is it known which locks the program holds. A program
 * that makes no such calls can call heapwise_poll from time to time. */
static inline void heapwise_on_snapshot(void (*callback)(void *), void *argument)
{
	if (heapwise_recorder_on_snapshot)
		heapwise_recorder_on_snapshot(callback, argument);
}

static inline void heapwise_poll(void)
{
	if (heapwise_recorder_poll)
		heapwise_recorder_poll();
}

#ifdef __cplusplus
}
#endif

/* struct node *node = HEAPWISE_TYPE(malloc(sizeof *node), struct node); only a cast unless
 * HEAPWISE_TYPES is defined. In C++ it needs heapwise/types.hpp. */
#ifndef __cplusplus
#ifdef HEAPWISE_TYPES
#define HEAPWISE_TYPE(pointer, ...)                                                                \
	((__VA_ARGS__ *)heapwise_set_type((void *)(pointer), #__VA_ARGS__, 0))
#else
#define HEAPWISE_TYPE(pointer, ...) ((__VA_ARGS__ *)(pointer))
#endif
#endif
#endif
