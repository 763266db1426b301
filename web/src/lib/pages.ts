// SPDX-License-Identifier: MIT
// Rows of which the server has more than are wanted here: pages are fetched as they come into sight, the next
// ones with them, and those that are far away are forgotten.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Answer, useAnswer } from "./answer";
import { type Params, source } from "./source";
import type { Rows } from "./table";

const PAGE = 100;
const KEPT = 40; // pages

interface Page<Row> {
	rows: Row[];
}

export interface Paged<Data, Row> {
	first: Answer<Data>;
	rows: Rows<Row> & { loaded(): Row[] };
	need(from: number, to: number): void;
}

export function usePages<Data extends Page<Row>, Row>(path: string, params: Params, total: (data: Data) => number): Paged<Data, Row> {
	const first = useAnswer<Data>(path, { ...params, offset: 0, limit: PAGE });
	const [round, setRound] = useState(0);
	const pages = useRef(new Map<number, Row[]>());
	const asked = useRef(new Set<number>());
	const epoch = useRef(0);
	const reply = first.reply;
	useEffect(() => {
		epoch.current++;
		pages.current = new Map(reply ? [[0, reply.data.rows]] : []);
		asked.current.clear();
		setRound((n) => n + 1);
	}, [reply]);
	const count = reply ? total(reply.data) : 0;
	const fetchPage = (page: number) => {
		const mine = epoch.current;
		if (page < 0 || page * PAGE >= count || pages.current.has(page) || asked.current.has(page)) return;
		asked.current.add(page);
		source
			.get<Data>(path, { ...params, offset: page * PAGE, limit: PAGE })
			.then((answer) => {
				if (mine !== epoch.current) return;
				pages.current.set(page, answer.data.rows);
				for (const old of pages.current.keys()) if (pages.current.size > KEPT && Math.abs(old - page) > KEPT / 2) pages.current.delete(old);
				setRound((n) => n + 1);
			})
			.catch(() => undefined) // asked again when it is seen again
			.finally(() => asked.current.delete(page));
	};
	const rows = useMemo(
		() => ({
			length: count,
			at: (index: number) => (pages.current.get(Math.floor(index / PAGE)) ?? (index < PAGE ? reply?.data.rows : undefined))?.[index % PAGE],
			loaded: () => [...pages.current].sort(([a], [b]) => a - b).flatMap(([, page]) => page),
		}),
		[reply, round],
	);
	const need = (from: number, to: number) => {
		for (let page = Math.floor(from / PAGE) - 1; page <= Math.floor(to / PAGE) + 1; page++) fetchPage(page);
	};
	return { first, rows, need };
}
