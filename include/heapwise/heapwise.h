/* SPDX-License-Identifier: MIT
 * What a program may tell Heapwise while it is being recorded. Header only: the functions are found
 * in the recorder when it is loaded, and do nothing otherwise, so a program can keep these calls in
 * production and needs no library to link. heapwise-api(3) says more.
 *
 *	#include <heapwise/heapwise.h>
 *
 *	heapwise_pause();                 // set-up that should not be in the profile
 *	load_configuration();
 *	heapwise_resume();
 *	heapwise_phase_begin("requests"); // seen in info, dump and the JSON report
 *	serve_requests();
 *	heapwise_phase_end("requests");
 *	heapwise_restart("shutdown.hwt"); // what follows goes to a file of its own
 *
 * Any thread may call any of these. In a signal handler only heapwise_state, heapwise_pause,
 * heapwise_resume and the marks without a callback are safe. errno is changed only where -1 is
 * returned. Functions that return int give 0, and do nothing, where nothing is recorded. */
#ifndef HEAPWISE_H
#define HEAPWISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Landing points in the recorder; weak, so that they may be missing. */
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
	HEAPWISE_DORMANT = 1,   /* recorder loaded, this process is not recorded (now) */
	HEAPWISE_RECORDING = 2,
	HEAPWISE_PAUSED = 3
};

/* One of the above. */
static inline int heapwise_state(void)
{
	return heapwise_recorder_state ? heapwise_recorder_state() : HEAPWISE_ABSENT;
}

/* ---- which allocations are recorded ---- */

/* From here on allocations are not recorded; the ends of recorded blocks still are. */
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

/* After every `count` allocations of the process what was recorded is made to be in the file, so
 * that it is there even if the program and its monitor are killed. 0, the default: about once a
 * second, and at the end. The program does not wait for it: the file is complete up to the count-th
 * allocation within about a tenth of a second. */
static inline void heapwise_autosave(uint64_t count)
{
	if (heapwise_recorder_autosave)
		heapwise_recorder_autosave(count);
}

/* The same now: when it returns 0, everything that this thread has done so far is in the file. -1
 * and errno, after 10 seconds at the most, if that could not be had. */
static inline int heapwise_save(void)
{
	return heapwise_recorder_save ? heapwise_recorder_save() : 0;
}

/* Writes a dump, as text (HeapLog version 4, see heapwise-export(1)): what is live, who allocated it, and, if
 * `freed` is not 0, what was freed. filename NULL: a name beside the trace, with the next number. When it
 * returns 0 the dump is there; other threads' work of just now may be in it. -1 and errno, after 10
 * seconds at the most; a dump that takes longer is still written. */
static inline int heapwise_dump(const char *filename, int freed)
{
	return heapwise_recorder_dump ? heapwise_recorder_dump(filename, freed) : 0;
}

/* Ends the recording; the program goes on unrecorded. When it returns 0 the file is complete and
 * closed. -1 and errno, after 10 seconds at the most, if the monitor has not done that yet;
 * nothing is recorded any more in any case. */
static inline int heapwise_stop(void)
{
	return heapwise_recorder_stop ? heapwise_recorder_stop() : 0;
}

/* Begins a new recording in `filename`, which is replaced if it exists; the one under way, if any, is
 * ended as heapwise_stop does. Blocks that were allocated before are unknown in the new file.
 * Relative names are relative to the present working directory. -1 and errno if that is not
 * possible: the recording that was under way then goes on. */
static inline int heapwise_restart(const char *filename)
{
	return heapwise_recorder_restart ? heapwise_recorder_restart(filename) : 0;
}

/* ---- moments ---- */

/* Puts a mark with this number into the trace. */
static inline void heapwise_mark(uint64_t number)
{
	if (heapwise_recorder_mark)
		heapwise_recorder_mark(number, 0);
}

/* Marks and phases with names. Names are cut after 59 bytes, and a recording keeps 1,023 different
 * ones. Phases may overlap; a phase goes from a begin to the next end of the same name. */
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

/* What is in the block that the pointer points into: `count` elements (0: unknown) of a type of this name.
 * Names are cut, and counted among those of marks, as said above; C++ programs have heapwise/types.hpp,
 * which needs no names. A later call for the same block replaces an earlier one. Returns the pointer. */
static inline void *heapwise_set_type(void *pointer, const char *name, uint64_t count)
{
	if (heapwise_recorder_type && name)
		heapwise_recorder_type(pointer, (const void *)0, name, count);
	return pointer;
}

/* ---- objects of the program's own ---- */

/* An interpreter, or a pool, gives an object away, of a type with this name (NULL: unknown), and takes it back or
 * collects it. They stand in the trace beside malloc's blocks, with the kind "pool" and the stack of the call; the memory
 * that they are cut from is told by malloc or not, as the program gets it. The name counts as in heapwise_set_type.
 * Objects must not lie at one address at a time; an object and a block of malloc may. Traces that know the language's own
 * functions are written with heapwise/writer.h. */
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

/* So many bytes were read or written there: by code that 'heapwise cc' has not instrumented, a just-in-time compiler's
 * for example. It counts as an access of the block of malloc that they lie in, with --access exact or adaptive. */
static inline void heapwise_access(const void *pointer, uint64_t bytes, int written)
{
	if (heapwise_recorder_object && bytes)
		heapwise_recorder_object(written ? 3 : 2, (uintptr_t)pointer, bytes, (const char *)0);
}

/* ---- snapshots ---- */

/* What is live at this moment is shown by 'heapwise info'. */
static inline void heapwise_snapshot(void)
{
	if (heapwise_recorder_mark)
		heapwise_recorder_mark(0, 1);
}

/* callback(argument) is called before a snapshot is taken; NULL: no more. There is one callback per
 * process. It is called by the thread that calls heapwise_snapshot; for a snapshot that is asked for
 * from outside (heapwise ctl) by the next thread that calls any function of this header but
 * heapwise_state and heapwise_autosave, because at no other moment is it known which locks the
 * program holds. A program that makes no such calls can call heapwise_poll now and then. */
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

/* struct node *node = HEAPWISE_TYPE(malloc(sizeof *node), struct node); nothing but a cast unless
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
