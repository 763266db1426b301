// SPDX-License-Identifier: MIT
// Names of functions, short enough to be read: arguments of templates and calls go first, then scopes.

import { trimMiddle } from "./format";

/** Where a bracket that opens at `at` closes; -1 = nowhere. Arrows and operators are no brackets. */
function closing(text: string, at: number): number {
	const [open, close] = text[at] === "<" ? ["<", ">"] : ["(", ")"];
	let depth = 0;
	for (let i = at; i < text.length; i++) {
		if (text[i] === open) depth++;
		else if (text[i] === close && text[i - 1] !== "-" && --depth === 0) return i;
	}
	return -1;
}

/** The arguments of templates are an ellipsis. */
function folded(text: string): string {
	for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at + 3)) {
		const end = closing(text, at);
		if (end < 0 || at === 0) break;
		text = `${text.slice(0, at)}<…>${text.slice(end + 1)}`;
	}
	return text;
}

/** std::vector<int, std::allocator<int> >::push_back(int const&) is std::vector<…>::push_back. */
export function plainName(name: string): string {
	const whole = name.replace(/\[abi:\w+\]/g, "");
	const operator = /(^|::| )operator(\(\)|[^\w(][^(]*|)(?=\(|$)/.exec(whole);
	if (operator) return (operator[1] === " " ? "" : folded(whole.slice(0, operator.index)).replace(/^.* /, "")) + operator[0].trimStart().replace(/(operator(?:<=>|<<=?|<=?(?= ?<)|[^\w<]*)) ?<.*>$/, "$1<…>");
	let text = folded(whole);
	const call = text.indexOf("(", text.startsWith("(") ? 1 : 0); // "(anonymous namespace)::f" begins with one
	if (call > 0 && !text.slice(call).startsWith("(anonymous") && !text.slice(call).startsWith("({lambda")) {
		const end = closing(text, call);
		if (end > 0 && !text.slice(end + 1).startsWith("::")) text = text.slice(0, call);
	}
	// what it returns stands before the name
	const space = text.lastIndexOf(" ");
	return (space > 0 && !/^<|\(/.test(text) ? text.slice(space + 1) : text) || name;
}

/** At most so many letters of it. */
export function shortName(name: string, most: number): string {
	return trimMiddle(plainName(name), most);
}

/** A type as it is; "f(int) (file.c:3)", which allocated, as "f (file.c:3)". */
export function ownerName({ what, owner, count = 1 }: { what?: string; owner: string; count?: number }): string {
	const [, fn, line] = /^(.*)( \([^()]*:\d+\))$/.exec(owner) ?? [];
	if (what === "lost") return "Lost";
	if (what === "several") return "Several roots together";
	if (what === "root") return count > 1 ? `${count.toLocaleString("en")} × ${owner}` : owner; // "kept in thread_main (owners.c:95)"
	return fn && line ? plainName(fn) + line : owner;
}
