"""Does `clew demo` give the same answers with other seeds? Trains it with several disjoint sets.

    python benchmarks/demo_sets.py --sets 20

Prints each agent's answers with how many sets gave them, and the range of its gain from E3B.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections import Counter, defaultdict

import numpy as np

from clew.analysis.answer import Answer, of_task
from clew.analysis.stats.task import Pair, Task, Values
from clew.learner import Pack, train
from clew.suite import find_suite
from clew.suite.planning import group_by_program


def trained(sets: int) -> dict[tuple[str, str], dict[Pair, Values]]:
    """By task and arm: tail means [set, seed]."""
    suite = find_suite("demo")
    seeds = len(suite.blocks[0].seed_list)
    blocks = [dataclasses.replace(block, seeds=seeds * sets) for block in suite.blocks]
    found: dict[tuple[str, str], dict[Pair, Values]] = defaultdict(dict)
    for bonus, runs in group_by_program(dataclasses.replace(suite, blocks=blocks)):
        program = runs[0].program(*bonus)
        pack = Pack.join([Pack.single(program, r.seed, r.reward, r.knobs) for r in runs])
        history = train(pack, steps=runs[0].steps)
        for run, mean in zip(runs, history.tail_mean, strict=True):
            arms = found[run.environment, run.reward]
            arm = (run.architecture, run.bonus)
            arms.setdefault(arm, np.zeros((sets, seeds)))[divmod(run.seed, seeds)] = mean
        print(runs[0].environment, runs[0].architecture, "trained", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    sets = parser.parse_args().sets
    for (environment, reward), arms in trained(sets).items():
        by_agent: dict[str, list[Answer]] = defaultdict(list)
        for i in range(sets):
            mine = {arm: np.sort(values[i]) for arm, values in arms.items()}
            for answer in of_task(Task(environment, reward, mine)):
                by_agent[answer.agent].append(answer)
        for agent, found in by_agent.items():
            gains = [a.effect.interval.estimate for a in found]
            halves = [(a.effect.interval.high - a.effect.interval.low) / 2 for a in found]
            print(environment, agent, f"gain {min(gains):+.2f} to {max(gains):+.2f},",
                  f"half an interval {np.mean(halves):.3f} on average;",
                  dict(Counter(a.effect.said for a in found)),
                  dict(Counter(a.held_back_by for a in found)))  # fmt: skip


if __name__ == "__main__":
    main()
