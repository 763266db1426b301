/* SPDX-License-Identifier: GPL-2.0-or-later
 * Gathers accesses and calls for them; see pending.h. */
#include "target/valgrind/pending.h"

#include <pub_tool_machine.h>
#include <pub_tool_tooliface.h>

#include "target/valgrind/access.h"

enum { SITE_REACH = 512 }; /* bytes: what is farther apart is hardly one object */

struct helper {
	const HChar *name;
	void *function;
};
static const struct helper ones[HW_SIDES] = {
	[HW_SIDE_READ] = {"hwv_read", hwv_read},
	[HW_SIDE_WRITTEN] = {"hwv_write", hwv_write},
};
static const struct helper same_twos[HW_SIDES] = {
	[HW_SIDE_READ] = {"hwv_read_read", hwv_read_read},
	[HW_SIDE_WRITTEN] = {"hwv_write_write", hwv_write_write},
};
static const struct helper read_write = {"hwv_read_write", hwv_read_write};

/* ---- calls ---- */

static IRDirty *call_one(const struct helper *helper, IRExpr *address, struct site *site)
{
	return unsafeIRDirty_0_N(2, helper->name, VG_(fnptr_to_fnentry)(helper->function),
				 mkIRExprVec_2(address, mkIRExpr_HWord((HWord)site)));
}

static IRDirty *call_two(const struct helper *helper, IRExpr *first, IRExpr *second,
			 struct site *sites)
{
	return unsafeIRDirty_0_N(3, helper->name, VG_(fnptr_to_fnentry)(helper->function),
				 mkIRExprVec_3(first, second, mkIRExpr_HWord((HWord)sites)));
}

static void fill_site(struct site *site, const struct pending_site *from)
{
	site->reach = (u64)(from->end - from->lowest);
	site->accesses = from->count;
	for (u32 i = 0; i < from->count; i++) {
		site->parts[i].offset = (u32)(from->distances[i] - from->lowest);
		site->parts[i].bytes = from->bytes[i];
		site->bytes += from->bytes[i];
	}
}

static IRDirty *note_site(const struct pending_site *one)
{
	struct site *site = hwv_sites_new(1);

	fill_site(site, one);
	return call_one(&ones[one->side], one->lowest_address, site);
}

/* What is read and what is written in the same few instructions may be told in any order. */
static IRDirty *note_sites(const struct pending_site *first, const struct pending_site *second)
{
	struct site *sites = hwv_sites_new(2);
	Bool swap = first->side == HW_SIDE_WRITTEN && second->side == HW_SIDE_READ;
	const struct pending_site *one = swap ? second : first, *other = swap ? first : second;

	fill_site(&sites[0], one);
	fill_site(&sites[1], other);
	return call_two(one->side == other->side ? &same_twos[one->side] : &read_write,
			one->lowest_address, other->lowest_address, sites);
}

void hwv_pending_flush(struct pending *self)
{
	u32 i = 0;

	for (; i + 1 < self->count; i += 2)
		addStmtToIRSB(self->out,
			      IRStmt_Dirty(note_sites(&self->sites[i], &self->sites[i + 1])));
	if (i < self->count)
		addStmtToIRSB(self->out, IRStmt_Dirty(note_site(&self->sites[i])));
	self->count = 0;
}

void hwv_note_one(IRSB *out, u32 side, IRExpr *address, Int bytes, IRExpr *guard)
{
	struct pending_site one = {
		.side = side,
		.lowest_address = address,
		.end = bytes,
		.bytes = {(u32)bytes},
		.count = 1,
	};
	IRDirty *d = note_site(&one);

	if (guard)
		d->guard = guard;
	addStmtToIRSB(out, IRStmt_Dirty(d));
}

/* ---- gathering ---- */

static Long lower(Long a, Long b) { return a < b ? a : b; }
static Long higher(Long a, Long b) { return a > b ? a : b; }

static Bool site_takes(const struct pending_site *site, u32 side, struct origin origin, Int bytes)
{
	return site->side == side && site->base == origin.base && site->count < HWV_SITE_PARTS &&
	       higher(site->end, origin.distance + bytes) - lower(site->lowest, origin.distance) <=
		       SITE_REACH;
}

static struct pending_site *site_for(struct pending *self, u32 side, struct origin origin,
				     Int bytes)
{
	struct pending_site *site;

	for (u32 i = 0; i < self->count; i++)
		if (site_takes(&self->sites[i], side, origin, bytes))
			return &self->sites[i];
	if (self->count == PENDING_SITES)
		hwv_pending_flush(self);
	site = &self->sites[self->count++];
	*site = (struct pending_site){
		.side = side,
		.base = origin.base,
		.lowest = origin.distance,
		.end = origin.distance,
	};
	return site;
}

void hwv_pending_add(struct pending *self, u32 side, IRExpr *address, struct origin origin,
		     Int bytes)
{
	struct pending_site *site = site_for(self, side, origin, bytes);

	if (!site->count || origin.distance < site->lowest) {
		site->lowest = origin.distance;
		site->lowest_address = address;
	}
	site->end = higher(site->end, origin.distance + bytes);
	site->distances[site->count] = origin.distance;
	site->bytes[site->count++] = (u32)bytes;
}
