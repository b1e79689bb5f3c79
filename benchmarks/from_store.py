"""Add the finished runs of a store, and what probes found in them, to the folder of results.

    clew run probe --store agents
    clew probe probe --store agents
    python benchmarks/from_store.py agents results

With --unfinished also runs that were stopped, as far as their last checkpoint: for a machine that
does not stay, on that machine (`clew run next.toml --time-limit 9m` stops at one).

A run goes into `runs.csv` and `curves.csv`, what was decoded from its memory into `probes.csv`;
`results/README.md` says what the columns are.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clew import envs
from clew.learner import History, Knobs, Settings
from clew.metrics import tail_mean
from clew.probes.reproduction import QUANTITIES
from clew.probes.stored import measurements, read_all_probes
from clew.store import Store, digest, scan
from clew.suite.provenance import provenance
from clew.suite.resuming import RECORD, SPENT, newest_checkpoints
from clew.suite.rows import STATE
from reproduce import STUDY, Table, add, append, changed


class Trained(NamedTuple):
    """A run, as far as it was trained."""

    config: dict[str, Any]
    about: Mapping[str, Any]
    """How: commit, device, jax, and of its pack runs and seconds."""
    first_success: int
    events: Sequence[str]
    curve: Mapping[str, np.ndarray]
    rollouts: Mapping[str, np.ndarray]


def finished(store: Store) -> Iterator[Trained]:
    """Of the store."""
    for each in scan(store):
        if each.status == "finished":
            run = store.run(each.config)
            about, result = run.provenance(), run.result()
            about = {**about, "seconds": about["seconds"] * about["runs"]}
            first, events = result["first_success"], result["events"]
            yield Trained(each.config, about, first, events, run.curve(), run.diagnostics())


def stopped(store: Store) -> Iterator[Trained]:
    """Those that are not finished, up to their last checkpoint; made by this machine's code."""
    for each in newest_checkpoints(store):
        found = each.folder(store).checkpoints.latest()
        if found is None:
            continue
        record = {
            n.removeprefix(RECORD): v for n, v in found.arrays.items() if n.startswith(RECORD)
        }
        about = {**provenance(), "runs": len(each.runs), "seconds": float(found.arrays[SPENT])}
        for i, config in enumerate(each.runs):
            if store.run(config).status == "begun":
                events = envs.make(
                    config["environment"], **config["environment_options"]
                ).event_names
                history = History(Settings(**config["settings"]), record)
                first = int(found.arrays[STATE + "first_success"][i])
                yield Trained(
                    config, about, first, events, history.curve(i), history.diagnostics(i)
                )


def row(run: Trained) -> dict[str, object]:
    """A run as `reproduce.table` writes it."""
    config, about, curve, rollouts = run.config, run.about, run.curve, run.rollouts
    block = STUDY.get(config["environment"], {})
    every = config["settings"]["eval_every"]
    last = max(1, len(curve["success"]) // 5)
    bonus = config["bonus"] != "none"
    # without a bonus its weight changes nothing
    knobs = {n: v for n, v in config["knobs"].items() if bonus or n != "bonus_coef"}
    usual_settings = dataclasses.asdict(Settings(**block.get("settings", {})))
    usual_knobs = dataclasses.asdict(Knobs(**block.get("knobs", {})))
    falls = run.events.index("fall") if "fall" in run.events else None
    finite = rollouts["report/finite"].astype(bool)
    rollout_steps = config["settings"]["envs"] * config["settings"]["steps"]
    return {
        "date": datetime.date.today().isoformat(),
        "commit": about["commit"],
        "device": about["device"],
        "jax": about["jax"],
        "environment": config["environment"],
        "environment_options": changed(config["environment_options"], {}),
        "reward": config["reward"],
        "architecture": config["architecture"],
        "bonus": config["bonus"],
        "bonus_options": changed(config["bonus_options"], {}) if bonus else "",
        "settings": changed(
            {**config["settings"], **config["architecture_options"]}, usual_settings
        ),
        "knobs": changed(knobs, usual_knobs),
        "seed": config["seed"],
        "steps": rollout_steps * every * len(curve["success"]),
        "tail_mean": round(float(tail_mean(curve["success"].astype(float))), 4),
        "first_success": run.first_success,
        "diverged": -1 if finite.all() else int(finite.argmin()) * rollout_steps,
        "late_length": _mean(curve["length"][-last:]),
        "late_falls": "" if falls is None else _mean(curve["events"][-last:, falls]),
        "late_entropy": _mean(rollouts["report/mean/entropy"][-last * every :]),
        "late_bonus": _mean(rollouts["normalised"][-last * every :]) if bonus else 0.0,
        "runs_in_pack": about["runs"],
        "pack_seconds": round(about["seconds"], 1),
        "evaluation_steps": rollout_steps * every,
        "evaluation_episodes": config["settings"]["eval_episodes"],
        "successes": " ".join(
            str(round(float(share) * config["settings"]["eval_episodes"]))
            for share in curve["success"]
        ),
    }


def _mean(values: np.ndarray) -> float:
    return round(float(values.mean()), 4)


def take(folder: Path, results: Path, unfinished: bool = False) -> int:
    """Add a store's finished runs, and others if asked for; how many there are."""
    store = Store(folder, read_only=True)
    runs = [*finished(store), *(stopped(store) if unfinished else ())]
    before = results / "runs.csv"
    first = len(before.read_text().splitlines()) - 1 if before.exists() else 0
    add(results, [row(run) for run in runs])
    numbers = {digest(run.config): first + i for i, run in enumerate(runs)}
    probed: Table = [
        {
            "run": numbers[digest(config)],
            "latent": one.fields["latent"],
            **{name: round(one.quantities[name], 4) for name in QUANTITIES},
        }
        for config, stored in read_all_probes(store)
        for one in measurements([(config, stored)])
    ]
    append(results / "probes.csv", ("run", "latent", *QUANTITIES), probed)
    return len(runs)


def main() -> None:
    description = argparse.RawDescriptionHelpFormatter
    args_of = argparse.ArgumentParser(description=__doc__, formatter_class=description)
    args_of.add_argument("store", type=Path)
    args_of.add_argument("results", type=Path)
    args_of.add_argument("--unfinished", action="store_true", help="also those that were stopped")
    args = args_of.parse_args()
    print(f"{take(args.store, args.results, args.unfinished)} runs added")


if __name__ == "__main__":
    main()
