"""Does `clew demo` give the same answers with other seeds? Trains it with several disjoint sets.

    python benchmarks/demo_sets.py --sets 20

Prints each agent's answers with how many sets gave them, and the range of its gain from E3B. With
--out, the tail means are added to a table; `--sets 0 --out TABLE` says what is in one, so that
processes with other seeds (--first-set) may share the work.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from clew.analysis.answer import Answer
from clew.analysis.answer import of_task as of
from clew.analysis.stats.task import Task
from clew.learner import Pack, train
from clew.suite import find_suite
from clew.suite.packs import group_by_program

ARM = ["environment", "reward", "architecture", "bonus"]


def trained(sets: int, first_set: int) -> pd.DataFrame:
    """A line a run: its task, its arm, its set, its seed in it, its tail mean."""
    suite = find_suite("demo")
    seeds = len(suite.blocks[0].seed_list)
    chosen = range(first_set * seeds, (first_set + sets) * seeds)
    blocks = [dataclasses.replace(block, seeds=list(chosen)) for block in suite.blocks]
    rows = []
    for bonuses, runs in group_by_program(dataclasses.replace(suite, blocks=blocks)):
        program = runs[0].program(*bonuses)
        pack = Pack.join([Pack.single(program, r.seed, r.reward, r.knobs) for r in runs])
        history = train(pack, steps=runs[0].steps)
        for run, mean in zip(runs, history.tail_mean, strict=True):
            task_and_arm = (run.environment, run.reward, run.architecture, run.bonus)
            rows.append((*task_and_arm, *divmod(run.seed, seeds), mean))
        print(runs[0].environment, runs[0].architecture, "trained", flush=True)
    return pd.DataFrame(rows, columns=[*ARM, "set", "seed", "tail_mean"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--first-set", type=int, default=0)
    parser.add_argument("--out", type=Path, help="table to add to")
    args = parser.parse_args()
    found = trained(args.sets, args.first_set) if args.sets else pd.DataFrame()
    if args.out:
        before = [pd.read_csv(args.out)] if args.out.exists() else []
        found = pd.concat([*before, *([found] if len(found) else [])])
        found.to_csv(args.out, index=False)
    for (environment, reward), of_task in found.groupby(ARM[:2], sort=False):
        by_agent: dict[str, list[Answer]] = defaultdict(list)
        for _, of_set in of_task.groupby("set"):
            arms = {
                arm: np.sort(runs.tail_mean.to_numpy())
                for arm, runs in of_set.groupby(ARM[2:], sort=False)
            }
            for answer in of(Task(environment, reward, arms)):
                by_agent[answer.agent].append(answer)
        for agent, answers in by_agent.items():
            gains = [a.effect.interval.estimate for a in answers]
            halves = [(a.effect.interval.high - a.effect.interval.low) / 2 for a in answers]
            print(environment, agent, f"gain {min(gains):+.2f} to {max(gains):+.2f},",
                  f"half an interval {np.mean(halves):.3f} on average;",
                  dict(Counter(a.effect.said for a in answers)),
                  dict(Counter(a.held_back_by for a in answers)))  # fmt: skip


if __name__ == "__main__":
    main()
