// SPDX-License-Identifier: MIT
// verdict: kind=lost function=load_job bytes=6000000 chunks=3000 options=--children
// A master that forks four workers, one after the other. A worker loses the job that it was given each time a job fails: the second does.
#include <sys/wait.h>
#include <unistd.h>

#include "noise.h"

enum { WORKERS = 4, JOBS = 9000, JOB = 2000 };

struct job {
	unsigned number, kind;
	char text[JOB - 2 * sizeof(unsigned)];
};

APART static struct job *load_job(unsigned number)
{
	struct job *job = malloc(sizeof *job);

	job->number = number;
	job->kind = number % 3;
	memset(job->text, (int)number, sizeof job->text);
	return job;
}

/* Whether it went well. */
static int handle(struct job *job, int careless)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < sizeof job->text; i += 16)
		sum += (unsigned char)job->text[i];
	noise_sum = noise_sum + sum;
	if (careless && job->kind == 1)
		return 0; /* the flaw: who calls believes that it was freed */
	free(job);
	return 1;
}

static int worker(unsigned id)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < JOBS; i++) {
		struct job *job = load_job(i);

		failed += !handle(job, id == 1);
		job = NULL;
		if (i % 3 == 0)
			noise_turn(i);
	}
	noise_end();
	return failed > 0;
}

int main(void)
{
	int status, failed = 0;

	noise_start();
	for (unsigned i = 0; i < WORKERS; i++) {
		pid_t child = fork();

		if (child == 0)
			exit(worker(i));
		waitpid(child, &status, 0);
		failed += status != 0;
	}
	printf("%d of %d workers failed\n", failed, WORKERS);
	noise_end();
	return 0;
}
