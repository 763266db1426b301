/* SPDX-License-Identifier: MIT
 * Signal handlers that allocate, having interrupted leaf functions at any instruction (prologues
 * and epilogues too), system calls and each other; by timer and by raise(), also on an alternate
 * stack. Nothing allocates while the timer runs but the handler, so this is legal C. */
#define _GNU_SOURCE
#include "stacks.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static NOINLINE void handler_inner(int depth)
{
	stacks_touch(48 + (size_t)depth);
	if (depth > 0)
		handler_inner(depth - 1);
	stacks_barrier();
}

static void on_timer(int signal)
{
	(void)signal;
	handler_inner(3);
	handled = handled + 1;
}

static void on_raise(int signal)
{
	handler_inner(1);
	if (signal == SIGUSR1)
		raise(SIGUSR2);
	handler_inner(0);
}

/* Leaves without a frame, with one, and with every callee-saved register in use. */
static NOINLINE uint64_t leaf_none(uint64_t x) { return x * 3 + 1; }

static NOINLINE uint64_t leaf_frame(uint64_t x)
{
	volatile uint64_t room[40];

	for (unsigned i = 0; i < 40; i++)
		room[i] = x + i;
	return room[x % 40];
}

static NOINLINE uint64_t leaf_registers(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t d = a ^ b, e = b ^ c, f = c ^ a, g = a + b, h = b + c, i = c + a;

	for (int n = 0; n < 20; n++) {
		a += d * e, b += e * f, c += f * g, d += g * h;
		e += h * i, f += i * a, g += a * b, h += b * c, i += c * d;
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i;
}

static NOINLINE uint64_t spin(int depth, uint64_t x)
{
	if (depth > 0)
		return spin(depth - 1, x) + 1;
	for (int i = 0; i < 3000; i++)
		x = leaf_none(leaf_frame(leaf_registers(x, x + 1, leaf_none(x))));
	return x;
}

static void handle(int signal, void (*function)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = function;
	action.sa_flags = flags;
	sigaction(signal, &action, NULL);
}

/* One signal, after delay_us; 0 = none. Not periodic: on a slow machine the handler would starve what
 * it interrupts. */
static void timer_set(long delay_us)
{
	struct itimerval timer = {{0, 0}, {0, delay_us}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void interrupt_by_timer(int wanted, int flags)
{
	uint64_t x = 1;

	handled = 0;
	wanted = stacks_rounds(wanted);
	handle(SIGALRM, on_timer, flags);
	for (unsigned round = 0; handled < wanted; round++) {
		timer_set(20 + 13 * (long)(round % 40));
		x = spin((int)(round % 20), x);
		timer_set(0);
	}
	if (x == 12345)
		puts("unlikely");
}

static void interrupt_sleep(int wanted)
{
	handled = 0;
	handle(SIGALRM, on_timer, 0);
	while (handled < wanted) {
		timer_set(700);
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
}

static NOINLINE void raise_deep(int depth)
{
	if (depth > 0)
		raise_deep(depth - 1);
	else
		raise(SIGUSR1);
	stacks_barrier();
}

int main(void)
{
	static char alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};

	stacks_need_handlers();
	handle(SIGUSR1, on_raise, 0);
	handle(SIGUSR2, on_raise, SA_RESTART);
	for (int i = 0; i < 25; i++)
		raise_deep(2 * i);
	interrupt_by_timer(120, SA_RESTART);
	interrupt_sleep(20);
	sigaltstack(&stack, NULL);
	interrupt_by_timer(120, SA_ONSTACK);
	handle(SIGUSR1, on_raise, SA_ONSTACK);
	for (int i = 0; i < 25; i++)
		raise_deep(2 * i);
	return stacks_done();
}
