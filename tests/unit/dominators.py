#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dominators.py FILE: compares the holders of graphs with immediate dominators by networkx.

Each graph is a line "graph START", lines "edge FROM TO" and lines "holder NODE HOLDER"."""
import sys

import networkx


def check(number, start, edges, holders):
    graph = networkx.DiGraph()
    graph.add_node(start)
    graph.add_edges_from(edges)
    told = dict(holders)
    told.pop(start)
    found = dict(networkx.immediate_dominators(graph, start))
    found.pop(start, None)  # older versions have it, its own dominator
    if found != told:
        wrong = sorted(node for node in found.keys() | told.keys() if found.get(node) != told.get(node))
        sys.exit(f"graph {number}: other holders of nodes {wrong[:10]}")


def main():
    graphs = []
    with open(sys.argv[1], encoding="ascii") as lines:
        for line in lines:
            word, *numbers = line.split()
            numbers = tuple(int(number) for number in numbers)
            if word == "graph":
                graphs.append((numbers[0], [], []))
            else:
                graphs[-1][1 if word == "edge" else 2].append(numbers)
    for number, graph in enumerate(graphs):
        check(number, *graph)
    print(len(graphs), "graphs agree")


main()
