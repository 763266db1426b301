/* SPDX-License-Identifier: MIT
 * Objects of language runtimes, told by a library that knows one: the landing points of format/runtime.h. Runs
 * in the target. */
#ifndef TARGET_RECORDER_SESSION_RUNTIME_H
#define TARGET_RECORDER_SESSION_RUNTIME_H

/* Begins what the run asks for: a recording with HW_RUN_LISP has a module of named functions. */
void hwr_runtime_attach(void);

#endif
