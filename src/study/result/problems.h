/* SPDX-License-Identifier: MIT
 * What was checked and what is wrong, for those who watch over builds: annotations of GitHub's
 * workflows, JUnit's XML, SARIF 2.1.0. Texts must outlive the list. */
#ifndef STUDY_RESULT_PROBLEMS_H
#define STUDY_RESULT_PROBLEMS_H

#include <stdio.h>

#include "host/base/arena.h"
#include "host/base/vec.h"

enum problem_level {
	PROBLEM_NONE, /* was checked and is right */
	PROBLEM_NOTE, /* worth knowing */
	PROBLEM_ERROR
};

/* Where it comes from. */
struct problem_place {
	const char *file;     /* "" = unknown; relative to the sources' folder, or absolute */
	u32 line;             /* 0 = unknown */
	const char *function; /* "" = unknown */
	const char *text;     /* one line: how much of it is here */
};

struct problem {
	const char *rule;    /* id of a rule */
	const char *subject; /* what was checked: "peak of the program" */
	const char *source;  /* trace in which */
	const char *message; /* a sentence */
	enum problem_level level;
	const struct problem_place *places; /* the one that matters most first */
	u32 place_count;
};

struct problem_rule {
	const char *id;   /* "max-peak" */
	const char *text; /* a sentence */
};

struct problem_list {     /* all zero = empty */
	const char *tool; /* "heapwise" */
	const char *version;
	const char *suite; /* "heapwise check" */
	const struct problem_rule *rules;
	u32 rule_count;
	VEC(struct problem) rows;
	struct arena arena; /* for texts and places that live as long as the list */
	bool failed;        /* there was no memory: something is missing */
};

void problems_add(struct problem_list *self, const struct problem *problem);
u64 problems_count(const struct problem_list *self, enum problem_level level);
void problems_release(struct problem_list *self);

/* "::error file=…,line=…,title=…::…" for each error and "::notice …" for each note. */
void render_github(const struct problem_list *self, FILE *out);

/* A test case for each row: errors are failures, notes are in its output. */
void render_junit(const struct problem_list *self, FILE *out);

/* Errors and notes as results of one run. */
void render_sarif(const struct problem_list *self, FILE *out);

#endif
