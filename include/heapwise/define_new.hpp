/* SPDX-License-Identifier: MIT
 * From here on `new` declares the type of what it allocates (types.hpp); undef_new.hpp ends this. Include it
 * after all headers that use placement new, such as those of the standard library. It can be included
 * several times, hence no guard. */
#include "types.hpp"

#ifdef HEAPWISE_TYPES
#undef new
#define new heapwise_new() ->* new (heapwise_one{})
#endif
