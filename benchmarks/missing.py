"""Declare what of the suite `paper` is not in the results yet, as a suite that `clew run` trains.

    python benchmarks/missing.py results --seconds 1500 > next.toml
    clew run next.toml --store next
    python benchmarks/from_store.py next results

Packs are taken in the order of `ORDER`, all rewards, bonuses and seeds of an architecture that are
missing together, as long as they fit in the seconds: by the guess of `clew.suite.rates` for a GPU
(an NVIDIA H200), which stands beside each. The first program is waited for; those after it are
compiled while a pack trains.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pandas as pd

from clew.analysis.published import STEPS
from clew.analysis.reproduction.trained import named_reading
from clew.analysis.results import ARM
from clew.suite import Block, RunSpec, Suite
from clew.suite.packs import group_by_program
from clew.suite.rates import guess
from clew.suite.registry import find_suite
from clew.suite.sharing import computed

ORDER = (
    ("TinyReproduce", ("sparse", "dense")),
    ("MiniGrid-MemoryS13", ("sparse",)),
    ("MysteryPath-Grid", ("sparse", "penalty")),
    ("MiniGrid-MemoryS13", ("penalty", "distractor")),
    ("MiniGrid-MemoryS13[view=7]", ("sparse",)),
    ("MysteryPath-Grid", ("aligned", "distractor")),
)
"""Environments and rewards: what most claims rest on first."""
FIELDS = [field.name for field in dataclasses.fields(Block)]
Arm = tuple[str, ...]
T = TypeVar("T")


class Missing(NamedTuple):
    """A pack, in as few blocks as say which arms have which seeds."""

    title: str
    blocks: list[Block]
    seconds: float
    """Of training, by a guess."""
    compile: float

    @property
    def runs(self) -> int:
        return sum(block.size for block in self.blocks)


def trained(folder: Path) -> dict[Arm, set[int]]:
    """The seeds of every arm that were trained to the end as the suite has it."""
    found: dict[Arm, set[int]] = {}
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False)
    columns = [*ARM, "environment_options", "bonus_options", "settings", "knobs"]
    for row, key in enumerate(runs[columns].astype(str).itertuples(index=False)):
        arm, reading = named_reading(*key)
        # an evaluation period, of at most 1% of the steps, may be cut off
        if reading.of_suite and int(runs["steps"][row]) > 0.99 * STEPS[arm[0]]:
            found.setdefault(arm, set()).add(int(runs["seed"][row]))
    return found


def missing(have: dict[Arm, set[int]]) -> Iterator[Missing]:
    """What is not there, in order."""
    for (environment, rewards), block in ((each, block_of(each[0])) for each in ORDER):
        for architecture in block.architectures:
            seeds_of = {
                (reward, bonus): tuple(
                    seed
                    for seed in block.seed_list
                    if seed not in have.get((environment, reward, architecture, bonus), ())
                )
                for reward in rewards
                for bonus in block.bonuses
            }
            blocks = [
                narrowed(block, architecture, *chosen)
                for chosen in rectangles(seeds_of, rewards, block.bonuses)
            ]
            if blocks:
                title = f"{environment} {' '.join(rewards)}, {architecture}"
                yield Missing(title, blocks, *cost(blocks))


def block_of(environment: str) -> Block:
    """Of the suite, by the name that the published table has."""
    world, _, view = environment.partition("[view=")
    wanted = int(view.rstrip("]")) if view else None
    blocks = (block for block in find_suite("paper").blocks if block.environment == world)
    return next(block for block in blocks if block.environment_options.get("view") == wanted)


def rectangles(
    seeds_of: dict[tuple[str, str], tuple[int, ...]], rewards: Iterable[str], bonuses: Sequence[str]
) -> list[tuple[list[str], list[str], tuple[int, ...]]]:
    """Rewards, bonuses and seeds: every arm once, with its seeds."""
    rows: dict[tuple[tuple[str, ...], tuple[int, ...]], list[str]] = {}
    for reward in rewards:
        alike: dict[tuple[int, ...], list[str]] = {}
        for bonus in bonuses:
            alike.setdefault(seeds_of[reward, bonus], []).append(bonus)
        for seeds, some in alike.items():
            if seeds:
                rows.setdefault((tuple(some), seeds), []).append(reward)
    return [(same, list(some), seeds) for (some, seeds), same in rows.items()]


def narrowed(
    block: Block, architecture: str, rewards: list[str], bonuses: list[str], seeds: tuple[int, ...]
) -> Block:
    """Only this of a block."""
    return dataclasses.replace(
        block,
        architectures=[architecture],
        architecture_options=of_these(block.architecture_options, [architecture]),
        rewards=rewards,
        bonuses=bonuses,
        bonus_options=of_these(block.bonus_options, bonuses),
        seeds=seeds,
    )


def of_these(options: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    """Of options by name, those of these names."""
    return {name: each for name, each in options.items() if name in names}


def cost(blocks: list[Block]) -> tuple[float, float]:
    """Seconds of training in one program with all bonuses, and of compiling it."""
    groups = group_by_program(Suite(name="missing", blocks=blocks, share=True))
    runs: list[RunSpec] = [run for _, group in groups for run in group]
    bonuses = tuple(dict.fromkeys(run.own_bonus for run in runs))
    rate = guess(runs[0].program(), len(runs), "gpu", bonuses=computed(bonuses))
    return runs[0].steps * rate.seconds_per_step, rate.compile


def within(packs: Iterable[Missing], seconds: float) -> Iterator[Missing]:
    """The first of them that fit, with the wait for the first program."""
    spent = 0.0
    for pack in packs:
        spent += pack.seconds + (0.0 if spent else pack.compile)
        if spent > seconds:
            return
        yield pack


def declared(block: Block) -> str:
    """As TOML."""
    values = ((name, getattr(block, name)) for name in FIELDS)
    return "\n".join(["[[block]]", *(f"{name} = {toml(value)}" for name, value in values if value)])


def toml(value: object) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(name)} = {toml(each)}" for name, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    return json.dumps(value)


def main() -> None:
    description = argparse.RawDescriptionHelpFormatter
    args_of = argparse.ArgumentParser(description=__doc__, formatter_class=description)
    args_of.add_argument("results", type=Path)
    args_of.add_argument("--seconds", type=float, default=float("inf"))
    args = args_of.parse_args()
    packs = list(within(missing(trained(args.results)), args.seconds))
    if not packs:
        raise SystemExit("nothing is missing that fits in these seconds")
    runs, seconds = sum(pack.runs for pack in packs), sum(pack.seconds for pack in packs)
    print(f"# {runs} runs of the suite paper, in {len(packs)} packs: some {seconds:.0f} s of a GPU")
    print("share = true")
    for pack in packs:
        print(f"\n# {pack.title}: {pack.runs} runs, some {pack.seconds:.0f} s")
        print("\n".join(map(declared, pack.blocks)))


if __name__ == "__main__":
    main()
