/* SPDX-License-Identifier: MIT
 * Modules of a model as files.
 * Host. */
#include "study/analysis/places/modules.h"

#include <string.h>

/* A library that was loaded twice has one identity: the first of its modules stands for it. */
static bool is_first(const struct model *model, u32 id)
{
	const struct context_table *contexts = &model->contexts;

	return id < contexts->identities.count && contexts->identities.data[id] == id + 1;
}

static bool add(struct module_list *self, const struct model *model,
		const struct modmap_module *module)
{
	return vec_push(&self->identities, module->id) &&
	       vec_push(&self->rows,
			(struct symbolizer_module){.path = *module->path ? module->path
									 : model->image.program,
						   .build_id = module->build_id,
						   .build_id_bytes = module->build_id_bytes,
						   .arch = model->image.arch});
}

bool module_list_fill(struct module_list *self, const struct model *model)
{
	const struct modmap *map = &model->contexts.modules;

	for (u32 pass = 0; pass < 2; pass++) {
		for (u32 id = 0; id < map->module_count; id++) {
			const struct modmap_module *module = modmap_module(map, id);
			bool is_program;

			if (!module || !is_first(model, id))
				continue;
			is_program =
				!*module->path || strcmp(module->path, model->image.program) == 0;
			if (is_program == (pass == 0) && !add(self, model, module))
				return false;
		}
		if (pass == 0)
			self->own = (u32)self->rows.count;
	}
	return true;
}

u32 module_list_row(const struct module_list *self, u32 identity)
{
	for (u32 i = 0; i < self->identities.count; i++)
		if (self->identities.data[i] == identity)
			return i;
	return NO_MODULE;
}

void module_list_release(struct module_list *self)
{
	vec_release(&self->rows);
	vec_release(&self->identities);
}
