/* SPDX-License-Identifier: MIT
 * Names of Lisp's types, classes and functions, and their numbers; see ecl_library.h. Runs in the
 * target.
 *
 * Numbers are kept per thread, by the address of what they are of. An address may be another
 * object's later, so the letters of the name are compared as well. */
#include "ecl_library.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { CACHED = 512, LETTERS = 64, NESTING = 3 };

struct cached {
	cl_object of, name;
	const void *letters;
	u32 count; /* of bytes that are kept */
	u32 number;
	u8 kept[LETTERS];
};

struct hwl_cache {
	u32 epoch;
	struct cached functions[CACHED], classes[CACHED];
};

static __thread struct hwl_cache *own __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool has_key;

/* ---- per thread ---- */

static void forget(void *cache)
{
	munmap(cache, sizeof(struct hwl_cache));
	own = NULL;
}

static __attribute__((constructor)) void key_make(void)
{
	has_key = pthread_key_create(&key, forget) == 0;
}

struct hwl_cache *hwl_cache(void)
{
	u32 epoch = heapwise_runtime_epoch();

	if (!own) {
		void *p = mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return NULL;
		own = p;
		own->epoch = epoch;
		if (has_key)
			pthread_setspecific(key, own);
	}
	if (own->epoch != epoch) {
		memset(own, 0, sizeof *own);
		own->epoch = epoch;
	}
	return own;
}

/* ---- text ---- */

struct text {
	char *at, *end;
};

static void put(struct text *self, u32 letter)
{
	if (letter < 0x80) {
		if (self->at < self->end)
			*self->at++ = (char)letter;
	} else if (self->end - self->at >= 4) {
		if (letter >= 0x10000) {
			*self->at++ = (char)(0xf0 | letter >> 18);
			*self->at++ = (char)(0x80 | (letter >> 12 & 63));
		} else if (letter >= 0x800) {
			*self->at++ = (char)(0xe0 | letter >> 12);
		}
		*self->at++ =
			(char)(letter >= 0x800 ? 0x80 | (letter >> 6 & 63) : 0xc0 | letter >> 6);
		*self->at++ = (char)(0x80 | (letter & 63));
	}
}

static void put_text(struct text *self, const char *text)
{
	while (*text)
		put(self, (u8)*text++);
}

static bool is_object(cl_object o, int tag) { return o && !ECL_IMMEDIATE(o) && o->d.t == tag; }

static void put_string(struct text *self, cl_object string)
{
	if (is_object(string, t_base_string))
		for (cl_index i = 0; i < string->base_string.fillp; i++)
			put(self, string->base_string.self[i]);
	else if (is_object(string, t_string))
		for (cl_index i = 0; i < string->string.fillp; i++)
			put(self, (u32)string->string.self[i]);
}

static bool string_is(cl_object string, const char *text)
{
	return is_object(string, t_base_string) && string->base_string.fillp == strlen(text) &&
	       memcmp(string->base_string.self, text, strlen(text)) == 0;
}

static void put_symbol(struct text *self, cl_object symbol)
{
	cl_object package = symbol->symbol.hpack, name;

	if (string_is(symbol->symbol.name,
		      "BYTECODES")) { /* what EVAL makes of a form that is no function */
		put_text(self, "(top-level form)");
		return;
	}
	if (is_object(package, t_package)) {
		name = package->pack.name;
		if (string_is(name, "KEYWORD")) {
			put(self, ':');
		} else if (!string_is(name, "COMMON-LISP") &&
			   !string_is(name, "COMMON-LISP-USER")) {
			put_string(self, name);
			put_text(self, "::");
		}
	}
	put_string(self, symbol->symbol.name);
}

/* (SETF FOO), (METHOD AREA (CIRCLE)) … */
static void put_name(struct text *self, cl_object name, u32 depth)
{
	if (name == ECL_NIL)
		put_text(self, depth ? "()" : "(anonymous function)");
	else if (is_object(name, t_symbol))
		put_symbol(self, name);
	else if (is_object(name, t_base_string) || is_object(name, t_string))
		put_string(self, name);
	else if (ECL_CONSP(name) && depth < NESTING) {
		u32 count = 0;

		put(self, '(');
		for (; ECL_CONSP(name) && count < 8; name = ECL_CONS_CDR(name), count++) {
			if (count)
				put(self, ' ');
			put_name(self, ECL_CONS_CAR(name), depth + 1);
		}
		put(self, ')');
	} else {
		put_text(self, "?");
	}
}

void hwl_name_write(char text[HW_CODE_NAME], cl_object name)
{
	struct text self = {text, text + HW_CODE_NAME - 1};

	put_name(&self, name, 0);
	*self.at = 0;
}

/* ---- the cache ---- */

static const void *letters_of(cl_object name, u32 *bytes)
{
	cl_object string = is_object(name, t_symbol) ? name->symbol.name : name;
	u64 count = 0;
	const void *letters = NULL;

	if (is_object(string, t_base_string)) {
		letters = string->base_string.self;
		count = string->base_string.fillp;
	} else if (is_object(string, t_string)) {
		letters = string->string.self;
		count = string->string.fillp * sizeof *string->string.self;
	}
	*bytes = count < LETTERS ? (u32)count : LETTERS;
	return letters;
}

static struct cached *cached_at(struct cached *table, cl_object of)
{
	return &table[((u64)of * 0x9e3779b97f4a7c15ull) >> 55];
}
_Static_assert(CACHED == 512, "9 bits of the hash");

static bool is_cached(const struct cached *self, cl_object of, cl_object name)
{
	u32 bytes;
	const void *letters = letters_of(name, &bytes);

	return self->of == of && self->name == name && self->letters == letters &&
	       self->count == bytes && letters && memcmp(self->kept, letters, bytes) == 0;
}

static void cache_put(struct cached *self, cl_object of, cl_object name, u32 number)
{
	*self = (struct cached){.of = of, .name = name, .number = number};
	self->letters = letters_of(name, &self->count);
	if (self->letters)
		memcpy(self->kept, self->letters, self->count);
}

/* ---- functions ---- */

static cl_object name_of_function(cl_object function)
{
	if (is_object(function, t_bclosure))
		function = function->bclosure.code;
	if (is_object(function, t_bytecodes))
		return function->bytecodes.name;
	if (is_object(function, t_cfun))
		return function->cfun.name;
	if (is_object(function, t_cfunfixed))
		return function->cfunfixed.name;
	return is_object(function, t_symbol) ? function : ECL_NIL;
}

u32 hwl_code_of_name(cl_object name)
{
	char text[HW_CODE_NAME];

	hwl_name_write(text, name);
	return heapwise_runtime_code(text);
}

u32 hwl_code_of_function(cl_object function)
{
	struct hwl_cache *cache = hwl_cache();
	cl_object name = name_of_function(function);
	struct cached *entry;
	u32 number;

	if (!cache)
		return hwl_code_of_name(name);
	entry = cached_at(cache->functions, function);
	if (is_cached(entry, function, name))
		return entry->number;
	number = hwl_code_of_name(name);
	if (number != HW_NO_CODE)
		cache_put(entry, function, name, number);
	return number;
}

/* ---- types ---- */

static const char *const tag_names[t_end] = {
	[t_list] = "cons",
	[t_bignum] = "bignum",
	[t_ratio] = "ratio",
	[t_singlefloat] = "single-float",
	[t_doublefloat] = "double-float",
	[t_longfloat] = "long-float",
	[t_complex] = "complex",
#ifdef ECL_COMPLEX_FLOAT
	[t_csfloat] = "complex single-float",
	[t_cdfloat] = "complex double-float",
	[t_clfloat] = "complex long-float",
#endif
	[t_symbol] = "symbol",
	[t_package] = "package",
	[t_hashtable] = "hash-table",
	[t_array] = "array",
	[t_vector] = "vector",
	[t_string] = "string",
	[t_base_string] = "base-string",
	[t_bitvector] = "bit-vector",
	[t_stream] = "stream",
	[t_random] = "random-state",
	[t_readtable] = "readtable",
	[t_pathname] = "pathname",
	[t_bytecodes] = "bytecodes",
	[t_bclosure] = "interpreted closure",
	[t_cfun] = "compiled function",
	[t_cfunfixed] = "compiled function",
	[t_cclosure] = "compiled closure",
	[t_instance] = "instance",
	[t_process] = "process",
	[t_lock] = "lock",
	[t_rwlock] = "rwlock",
	[t_condition_variable] = "condition-variable",
	[t_semaphore] = "semaphore",
	[t_barrier] = "barrier",
	[t_mailbox] = "mailbox",
	[t_codeblock] = "code block",
	[t_foreign] = "foreign data",
	[t_frame] = "stack frame",
	[t_weak_pointer] = "weak pointer",
#ifdef ECL_SSE2
	[t_sse_pack] = "sse pack",
#endif
};

/* The number of a fixed name. A word holds the epoch that it is of. */
static u32 fixed_name(u64 *kept, const char *name)
{
	u64 word = load_relaxed(kept);
	u32 epoch = heapwise_runtime_epoch();

	if ((u32)(word >> 32) != epoch || !(u32)word) {
		word = (u64)epoch << 32 | heapwise_runtime_name(name);
		store_relaxed(kept, word);
	}
	return (u32)word;
}

u32 hwl_type_of_tag(int tag)
{
	static u64 kept[t_end];

	if (tag <= 0 || tag >= t_end || !tag_names[tag])
		return hwl_type_of_part(HWL_DATA);
	return fixed_name(&kept[tag], tag_names[tag]);
}

u32 hwl_type_of_part(enum hwl_part part)
{
	static const char *const names[HWL_PARTS] = {
		[HWL_DATA] = "data",
		[HWL_VECTOR_DATA] = "vector data",
		[HWL_STRUCTURE_SLOTS] = "structure slots",
		[HWL_INSTANCE_SLOTS] = "instance slots",
	};
	static u64 kept[HWL_PARTS];

	return fixed_name(&kept[part], names[part]);
}

static cl_object name_of_class(cl_object class)
{
	if (!is_object(class, t_instance) || !class->instance.slots || class->instance.length <= 3)
		return ECL_NIL;
	return ECL_CLASS_NAME(class);
}

static bool is_structure_class(cl_object class)
{
	cl_object name = name_of_class(ECL_CLASS_OF(class));

	return is_object(name, t_symbol) && string_is(name->symbol.name, "STRUCTURE-CLASS");
}

u32 hwl_type_of_class(cl_object class)
{
	struct hwl_cache *cache = hwl_cache();
	cl_object name = name_of_class(class);
	struct cached *entry;
	char words[HW_CODE_NAME + 16];
	u32 number;

	if (name == ECL_NIL)
		return hwl_type_of_tag(t_instance);
	entry = cache ? cached_at(cache->classes, class) : NULL;
	if (entry && is_cached(entry, class, name))
		return entry->number;
	strcpy(words, is_structure_class(class) ? "structure " : "instance ");
	hwl_name_write(words + strlen(words), name);
	number = heapwise_runtime_name(words);
	if (!number)
		return hwl_type_of_tag(t_instance); /* there are too many */
	if (entry)
		cache_put(entry, class, name, number);
	return number;
}
