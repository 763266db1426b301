/* SPDX-License-Identifier: MIT
 * Finds the containers in a type: members, members of members, and elements of arrays.
 * Host. Each type is looked at once. */
#include <string.h>

#include "host/base/keyed.h"
#include "study/analysis/owners/library.h"

enum { NESTING_MAX = 24, FIELDS_MAX = 4096, ELEMENTS_MIN = 8 };

bool library_sort(const char *type, u8 *sort)
{
	static const struct {
		const char *head;
		u8 sort;
	} known[] = {
		{"vector<", CONTAINER_ARRAY},
		{"basic_string<", CONTAINER_TEXT},
		{"deque<", CONTAINER_DEQUE},
		{"list<", CONTAINER_LIST},
		{"forward_list<", CONTAINER_LIST},
		{"map<", CONTAINER_TREE},
		{"multimap<", CONTAINER_TREE},
		{"set<", CONTAINER_TREE},
		{"multiset<", CONTAINER_TREE},
		{"unordered_map<", CONTAINER_TABLE},
		{"unordered_multimap<", CONTAINER_TABLE},
		{"unordered_set<", CONTAINER_TABLE},
		{"unordered_multiset<", CONTAINER_TABLE},
		{"shared_ptr<", CONTAINER_SHARED},
	};

	if (strncmp(type, "std::", 5) != 0)
		return false;
	type += 5;
	*sort = CONTAINER_TEXT;
	if (strcmp(type, "string") == 0 || strcmp(type, "wstring") == 0)
		return true;
	for (u32 i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(type, known[i].head, strlen(known[i].head)) == 0) {
			*sort = known[i].sort;
			return true;
		}
	return false;
}

struct finding {
	struct container_fields *to;
	struct declared *declared;
	u64 first;
	bool failed;
};

static void add(struct finding *self, u64 offset, u32 type, u8 sort)
{
	if (self->to->rows.count - self->first < FIELDS_MAX)
		self->failed |=
			!vec_push(&self->to->rows, (struct container_field){offset, type, sort});
}

static void visit(struct finding *self, u32 type, u64 offset, u32 depth);

/* An array of pointers is a container itself; one of objects may have some. */
static void visit_array(struct finding *self, u32 type, u64 offset, u32 depth)
{
	const struct declared_type *array = declared_type(self->declared, type);
	const struct declared_type *of = declared_type(self->declared, array->of);
	u64 before = self->to->rows.count;

	if (!of || !of->size || of->form == DECLARED_OTHER)
		return;
	for (u64 i = 0; i < array->count && i < FIELDS_MAX && of->form != DECLARED_POINTER; i++) {
		visit(self, array->of, offset + i * of->size, depth + 1);
		if (self->to->rows.count == before)
			break;
	}
	if (self->to->rows.count == before && array->count >= ELEMENTS_MIN)
		add(self, offset, type,
		    of->form == DECLARED_POINTER ? CONTAINER_POINTERS : CONTAINER_ARRAY);
}

static void visit(struct finding *self, u32 type, u64 offset, u32 depth)
{
	const struct declared_type *at = declared_type(self->declared, type);
	u8 sort;

	if (!at || depth > NESTING_MAX)
		return;
	if (at->form == DECLARED_ARRAY) {
		visit_array(self, type, offset, depth);
	} else if (at->form == DECLARED_CLASS && library_sort(at->name, &sort)) {
		if (!strstr(at->name, "> node"))
			add(self, offset, type, sort);
		else
			for (u32 i = 0; i < at->member_count; i++)
				visit(self, at->members[i].type, offset + at->members[i].offset,
				      depth + 1);
	} else if (at->form == DECLARED_CLASS) {
		for (u32 i = 0; i < at->member_count; i++)
			visit(self, at->members[i].type, offset + at->members[i].offset, depth + 1);
	}
}

const struct container_field *container_fields_of(struct container_fields *self,
						  struct owners *owners, u32 type, u32 *count)
{
	static const struct container_field none;
	struct finding finding = {.to = self,
				  .declared = owners->members.declared,
				  .first = self->rows.count};
	u64 *known = map_at(&self->by_type, type);

	if (known && !*known) {
		visit(&finding, type, 0, 0);
		finding.failed |= !vec_extend(&self->types, self->types.count + 1);
		if (finding.failed)
			return NULL;
		self->types.data[self->types.count - 1].start = (u32)finding.first;
		self->types.data[self->types.count - 1].count =
			(u32)(self->rows.count - finding.first);
		*known = self->types.count;
	}
	if (!known)
		return NULL;
	*count = self->types.data[*known - 1].count;
	return *count ? &self->rows.data[self->types.data[*known - 1].start] : &none;
}

void container_fields_release(struct container_fields *self)
{
	vec_release(&self->rows);
	vec_release(&self->types);
	map_release(&self->by_type);
}
