/* SPDX-License-Identifier: MIT
 * The functions of libm that glibc 2.29 made anew, as they were before: linked with --wrap into what
 * runs with glibc 2.28, see Portable.cmake. The newer ones do not set errno the way SVID did; nothing
 * of ours looks. */
#define OLDER1(name)                                                                               \
	double __wrap_##name(double);                                                              \
	double older_##name(double);                                                               \
	__asm__(".symver older_" #name "," #name "@" GLIBC_FIRST);                                 \
	double __wrap_##name(double x) { return older_##name(x); }

OLDER1(exp)
OLDER1(exp2)
OLDER1(log)
OLDER1(log2)

double __wrap_pow(double, double);
double older_pow(double, double);
__asm__(".symver older_pow,pow@" GLIBC_FIRST);
double __wrap_pow(double x, double y) { return older_pow(x, y); }
