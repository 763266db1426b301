/* SPDX-License-Identifier: MIT
 * `new` is itself again: for placement new, for declarations of operator new, and before headers that use
 * either. define_new.hpp brings it back; as often as needed, hence no guard. */
#undef new
