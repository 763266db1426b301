/* SPDX-License-Identifier: MIT
 * Restores plain `new`, for placement new, declarations of operator new, and before headers that use
 * either. define_new.hpp switches back. It can be included several times, hence no guard. */
#undef new
