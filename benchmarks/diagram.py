"""Draw the rooms of the package, and what flows from one to the next.

python benchmarks/diagram.py docs/images/architecture.svg
"""

from __future__ import annotations

import sys

import pygraphviz

ROOMS = {
    "envs": ("worlds: a step emits events", "#dbe7ff"),
    "memory": ("what the agent remembers with", "#dbe7ff"),
    "bonuses": ("what pays for exploring", "#dbe7ff"),
    "learner": ("one compiled program\ntrains a pack of runs", "#cfeedd"),
    "suite": ("which runs, in which packs,\non which machines", "#cfeedd"),
    "store": ("results on disk", "#ffe9bf"),
    "analysis": ("statistics, the answer,\nthe report", "#f7d9e3"),
    "probes": ("what a trained memory\nencodes", "#f7d9e3"),
    "machines": ("what a reward supervises,\ndecided exactly", "#e6dcf7"),
}
FLOWS = [
    ("envs", "learner", "observations, events"),
    ("memory", "learner", ""),
    ("bonuses", "learner", ""),
    ("learner", "suite", "trained packs"),
    ("suite", "store", "runs, whole or not at all"),
    ("store", "analysis", "a table of runs"),
    ("store", "probes", "trained agents"),
    ("probes", "analysis", "what can be decoded"),
    ("envs", "machines", "every transition"),
    ("machines", "analysis", "what is proved"),
]


def diagram() -> pygraphviz.AGraph:
    graph = pygraphviz.AGraph(directed=True, rankdir="TB", bgcolor="transparent", ranksep=0.35)
    font = "Helvetica,Arial,sans-serif"
    graph.node_attr.update(
        shape="box", style="rounded,filled", color="#666666", fontname=font, fontsize=12
    )
    graph.edge_attr.update(color="#888888", fontcolor="#888888", fontname=font, fontsize=10)
    for name, (about, colour) in ROOMS.items():
        told = about.replace("\n", "<br/>")
        graph.add_node(name, label=f"<<b>clew.{name}</b><br/>{told}>", fillcolor=colour)
    for begin, end, what in FLOWS:
        graph.add_edge(begin, end, label=f"  {what}" if what else "")
    return graph


if __name__ == "__main__":
    diagram().draw(sys.argv[1], prog="dot")
