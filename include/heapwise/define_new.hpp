/* SPDX-License-Identifier: MIT
 * From here on `new` tells the type of what it makes (types.hpp); undef_new.hpp ends it. To be included
 * after all headers that use placement new, those of the standard library among them; as often as
 * needed, hence no guard. */
#include "types.hpp"

#ifdef HEAPWISE_TYPES
#undef new
#define new heapwise_new() ->* new (heapwise_one{})
#endif
