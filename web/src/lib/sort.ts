// SPDX-License-Identifier: MIT

/** Rows in the order of "name" or, falling, "-name"; what is not known comes first. */
export function sorted<Row extends object>(rows: readonly Row[], sort: string): Row[] {
	const name = sort.replace(/^-/, "") as keyof Row;
	const sign = sort.startsWith("-") ? -1 : 1;
	return [...rows].sort((a, b) => {
		const x = a[name];
		const y = b[name];
		if (typeof (x ?? y) === "number") return sign * (Number(x ?? -1) - Number(y ?? -1));
		return sign * String(x ?? "").localeCompare(String(y ?? ""));
	});
}
