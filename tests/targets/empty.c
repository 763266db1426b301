/* SPDX-License-Identifier: MIT
 * Allocates nothing at all. */
int main(void) { return 7; }
