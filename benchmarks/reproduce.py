"""Train arms of the study under one reading of it, and add them to a folder of results.

All rewards, bonuses and seeds of an architecture are one pack. For example, all of TinyReproduce
as the suite `paper` has it, 60 runs in each of two packs:

    python benchmarks/reproduce.py TinyReproduce sparse dense --architectures GRU LSTM \\
        --bonuses none e3b noveld --paper

A bonus may have options of its own, and stand there several times: "e3b boundary=unpaid".
It prints a table. With --out, `runs.csv` and `curves.csv` in that folder grow by a line a run;
`results/README.md` says what their columns are. While a pack trains, `unfinished.json` there has
what these lines would be so far.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import datetime
import fcntl
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew import bonuses, envs, memory
from clew.bonuses import OneOf
from clew.learner import History, Knobs, Pack, Program, Settings, TrainState, periods
from clew.suite.library.paper import MEMORY_S13, MYSTERY_PATH, TINY_REPRODUCE
from clew.suite.provenance import provenance
from clew.suite.registry import find_suite

BLOCKS = (MYSTERY_PATH.keywords, MEMORY_S13.keywords, TINY_REPRODUCE.keywords)
STUDY = {block["environment"]: block for block in BLOCKS}
Table = list[dict[str, object]]
ORDER = ("layers", "max_score", "last_pairs", "boundary")
"""Of a bonus's options, in `runs.csv`; others follow."""


class Arm(NamedTuple):
    """One run of a pack."""

    reward: str
    bonus: str
    bonus_options: str
    knobs: str
    seed: int


def options(pairs: list[str]) -> dict[str, object]:
    """`target_kl=1e9 truncation=end` as names and values."""
    found: dict[str, object] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


def changed(values: Mapping[str, object], usual: Mapping[str, object]) -> str:
    """`name=value` of what is not as usual, as these scripts are given it: 100, 1e9, false."""

    def text(value: object) -> str:
        if isinstance(value, float):
            return f"{value:g}".replace("e+0", "e")
        return value if isinstance(value, str) else json.dumps(value)

    names = [*(name for name in ORDER if name in values), *(n for n in values if n not in ORDER)]
    return " ".join(f"{n}={text(values[n])}" for n in names if usual.get(n) != values[n])


def train(args: argparse.Namespace, architecture: str) -> Table:
    """One pack: every reward, bonus and seed."""
    block = STUDY[args.environment]
    parts = {
        text: bonuses.make(text.split()[0], **bonus_options(args, text)) for text in args.bonuses
    }
    program = Program.of(
        envs.make(args.environment, **options(args.environment_options)),
        architecture,
        OneOf.of(parts),
        Settings(**{**block.get("settings", {}), **options(args.settings)}),
        memory_options(args, architecture),
    )
    knobs = Knobs(**{**block.get("knobs", {}), **options(args.knobs)})
    arms, runs = [], []
    for reward, text in itertools.product(args.rewards, args.bonuses):
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            chosen = changed(bonus_options(args, text), {})
            arms.append(Arm(reward, text.split()[0], chosen, " ".join(args.knobs), seed))
            runs.append(Pack.single(program, seed, reward, knobs, text))
    pack = Pack.join(runs)
    state = pack.prepare()
    with contextlib.ExitStack() as held:
        if args.lock:
            fcntl.flock(held.enter_context(open(args.lock, "w")), fcntl.LOCK_EX)
        return record(args, architecture, pack, arms, state)


def bonus_options(args: argparse.Namespace, text: str) -> dict[str, object]:
    """Of a bonus: the suite's, then those of all, then its own."""
    name, *own = text.split()
    if name == "none":
        return {}
    return {**args.of_suite.get(name, {}), **options([*args.bonus_options, *own])}


def memory_options(args: argparse.Namespace, architecture: str) -> dict[str, object]:
    """Of an architecture: the suite's, then those that were asked for."""
    return {**args.of_memories.get(architecture, {}), **options(args.architecture_options)}


def record(
    args: argparse.Namespace,
    architecture: str,
    pack: Pack,
    arms: list[Arm],
    state: TrainState | None = None,
) -> Table:
    """Train a pack until its steps or its seconds are over."""
    program, steps = pack.program, args.steps or STUDY[args.environment]["steps"]
    history, rows = History(program.settings), []
    for now in periods(pack, steps, state):
        history.add(now)
        late = history.seconds + now.seconds > args.seconds
        if now.period % 10 == 1:
            means = history.evaluations.success[:, -5:].mean(1).round(2).tolist()
            print(now.period, now.periods, f"{history.seconds:.0f}s", means, flush=True)
        if late or now.period % 20 == 0 or now.period == now.periods:
            rows = table(args, architecture, program, arms, history)
            if args.out:
                args.out.mkdir(parents=True, exist_ok=True)
                (args.out / "unfinished.json").write_text(json.dumps(rows))
        if late:
            break
    return rows


def table(
    args: argparse.Namespace,
    architecture: str,
    program: Program,
    arms: list[Arm],
    history: History,
) -> Table:
    """A line a run, of what its pack has recorded so far."""
    evaluations, rollouts, settings = history.evaluations, history.rollouts, program.settings
    periods = evaluations.success.shape[1]
    last = max(1, periods // 5)
    late = {
        "late_length": evaluations.length[:, -last:],
        "late_entropy": rollouts.report.mean.entropy[:, -last * settings.eval_every :],
        "late_bonus": rollouts.normalised[:, -last * settings.eval_every :],
    }
    episodes, successes = (
        count[:, -last * settings.eval_every :].sum(1)
        for count in (rollouts.episodes, rollouts.successes)
    )
    if "fall" in program.env.event_names:
        falls = program.env.event_names.index("fall")
        late["late_falls"] = evaluations.events[:, -last:, falls]
    about = provenance()
    of_memory = changed(memory_options(args, architecture), {}).split()
    return [
        {
            "date": datetime.date.today().isoformat(),
            "commit": about["commit"],
            "device": about["device"],
            "jax": about["jax"],
            "environment": args.environment,
            "environment_options": " ".join(args.environment_options),
            "reward": arm.reward,
            "architecture": architecture,
            "bonus": arm.bonus,
            "bonus_options": arm.bonus_options,
            "settings": " ".join(args.settings + of_memory),
            "knobs": arm.knobs,
            "seed": arm.seed,
            "steps": settings.period * periods,
            "tail_mean": round(float(history.tail_mean[run]), 4),
            "first_success": int(history.first_success[run]),
            "diverged": int(history.diverged[run]),
            **{
                name: round(float(late[name][run].mean()), 4) if name in late else ""
                for name in ("late_length", "late_falls", "late_entropy", "late_bonus")
            },
            "late_sampled": round(float(successes[run] / max(episodes[run], 1)), 4),
            "runs_in_pack": len(arms),
            "pack_seconds": round(history.seconds, 1),
            "evaluation_steps": settings.period,
            "evaluation_episodes": settings.eval_episodes,
            "successes": " ".join(
                str(round(float(share) * settings.eval_episodes))
                for share in evaluations.success[run]
            ),
        }
        for run, arm in enumerate(arms)
    ]


def show(rows: Table) -> None:
    """A line an arm."""
    arms: dict[tuple[object, ...], Table] = {}
    for row in rows:
        names = ("reward", "architecture", "bonus", "bonus_options", "knobs")
        arms.setdefault(tuple(row[name] for name in names), []).append(row)
    for arm, runs in arms.items():
        tails = np.array([row["tail_mean"] for row in runs], float)
        late = {
            name: np.mean([float(str(row[f"late_{name}"])) for row in runs]).round(2)
            for name in ("length", "falls", "entropy", "bonus", "sampled")
            if runs[0][f"late_{name}"] != ""
        }
        steps, seconds = runs[0]["steps"], runs[0]["pack_seconds"]
        print(*arm, f"{tails.mean():.3f} ± {tails.std():.3f} (n={len(tails)})", end=" ")
        print(f"after {steps:,} steps in {seconds} s;", *(f"{k} {v}" for k, v in late.items()))


def add(folder: Path, rows: Table) -> None:
    """Append to the two tables; what is there is never changed."""
    folder.mkdir(parents=True, exist_ok=True)
    before = folder / "runs.csv"
    first = len(before.read_text().splitlines()) - 1 if before.exists() else 0
    numbered = [{"run": first + i, **row} for i, row in enumerate(rows)]
    curve = ("run", "evaluation_steps", "evaluation_episodes", "successes")
    elsewhere = {*curve[1:], "late_sampled"}
    for name, columns in (
        ("runs.csv", [column for column in numbered[0] if column not in elsewhere]),
        ("curves.csv", curve),
    ):
        append(folder / name, columns, numbered)


def append(path: Path, columns: Sequence[str], rows: Table) -> None:
    """These columns of the rows, after what the file has."""
    new = not path.exists()
    with open(path, "a", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        if new:
            table.writeheader()
        table.writerows(rows)


def with_shared(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """With what any pack of the study may be given."""
    parser.add_argument("--steps", type=int, help="the study's if not given")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="of training, for each pack"
    )
    parser.add_argument("--environment-options", nargs="*", default=[])
    parser.add_argument("--settings", nargs="*", default=[], help="such as truncation=end")
    parser.add_argument("--out", type=Path, help="folder of results to add to")
    parser.set_defaults(of_suite={}, of_memories={}, architecture_options=[])
    return parser


def as_in_suite(args: argparse.Namespace) -> None:
    """What the suite has otherwise than the study's tables, before what was asked for."""
    if args.suite is None:
        return
    usual, blocks = STUDY[args.environment], find_suite(args.suite).blocks
    blocks = [block for block in blocks if block.environment == args.environment]
    if not blocks:
        raise SystemExit(f"the suite {args.suite} has nothing on {args.environment}")
    view = options(args.environment_options).get("view")
    same = (block for block in blocks if block.environment_options.get("view") == view)
    block = next(same, blocks[0])
    for name in ("environment_options", "settings", "knobs"):
        chosen = getattr(block, name)
        if any(isinstance(value, list) for value in chosen.values()):
            raise SystemExit(f"the suite {args.suite} sweeps over {name}; use clew run")
        text = changed(chosen, usual.get(name, {}))
        asked = options(getattr(args, name))
        kept = [word for word in text.split() if word.partition("=")[0] not in asked]
        setattr(args, name, [*kept, *getattr(args, name)])
    args.of_suite, args.of_memories = block.bonus_options, block.architecture_options


def main() -> None:
    description = argparse.RawDescriptionHelpFormatter
    args_of = argparse.ArgumentParser(description=__doc__, formatter_class=description)
    args_of.add_argument("environment", choices=STUDY)
    args_of.add_argument("rewards", nargs="+")
    args_of.add_argument("--architectures", nargs="+", default=list(memory.names()))
    args_of.add_argument("--architecture-options", nargs="*", default=[], help="such as heads=8")
    args_of.add_argument("--bonuses", nargs="+", default=["none"])
    args_of.add_argument("--bonus-options", nargs="*", default=[], help="of all, such as layers=2")
    args_of.add_argument("--knobs", nargs="*", default=[], help="such as learning_rate=1e-3")
    args_of.add_argument("--seeds", type=int, default=10)
    args_of.add_argument("--first-seed", type=int, default=0)
    args_of.add_argument("--suite", help="what is left open is as this suite has it")
    args_of.add_argument("--paper", action="store_const", const="paper", dest="suite")
    args_of.add_argument("--lock", help="a file; of those that name it, one trains at a time")
    args = with_shared(args_of).parse_args()
    as_in_suite(args)
    for architecture in args.architectures:
        rows = train(args, architecture)
        show(rows)
        if args.out:
            add(args.out, rows)
            (args.out / "unfinished.json").unlink()


if __name__ == "__main__":
    main()
