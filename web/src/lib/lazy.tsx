// SPDX-License-Identifier: MIT
// A view whose code is fetched when it is first shown.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Skeleton } from "./controls";

export function lazy(load: () => Promise<ComponentType>): ComponentType {
	let known: ComponentType | null = null;
	return function Lazy() {
		const [Shown, setShown] = useState<ComponentType | null>(() => known);
		const [problem, setProblem] = useState("");
		useEffect(() => {
			if (known) return;
			load()
				.then((component) => {
					known = component;
					setShown(() => component);
				})
				.catch(() => setProblem("This part of the page could not be fetched."));
		}, []);
		return Shown ? <Shown /> : problem ? <p class="quiet" role="status">{problem}</p> : <Skeleton block />;
	};
}
