"""Add the finished runs of a store, and what probes found in them, to the folder of results.

    clew run probe --store agents
    clew probe probe --store agents
    python benchmarks/from_store.py agents results

A run goes into `runs.csv` and `curves.csv`, what was decoded from its memory into `probes.csv`;
`results/README.md` says what the columns are.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np

from clew.learner import Knobs, Settings
from clew.probes.reproduction import QUANTITIES
from clew.probes.stored import measurements, read_all_probes
from clew.store import RunFolder, Store, digest, scan
from reproduce import STUDY, Table, add, append, changed


def row(run: RunFolder, config: dict[str, Any]) -> dict[str, object]:
    """A run as `reproduce.table` writes it."""
    block, about, result = STUDY.get(config["environment"], {}), run.provenance(), run.result()
    curve, rollouts = run.curve(), run.diagnostics()
    every = config["settings"]["eval_every"]
    last = max(1, len(curve["success"]) // 5)
    bonus = config["bonus"] != "none"
    # without a bonus its weight changes nothing
    knobs = {n: v for n, v in config["knobs"].items() if bonus or n != "bonus_coef"}
    usual_settings = dataclasses.asdict(Settings(**block.get("settings", {})))
    usual_knobs = dataclasses.asdict(Knobs(**block.get("knobs", {})))
    falls = result["events"].index("fall") if "fall" in result["events"] else None
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
        "steps": result["steps"],
        "tail_mean": round(result["tail_mean"], 4),
        "first_success": result["first_success"],
        "diverged": -1 if finite.all() else int(finite.argmin()) * rollout_steps,
        "late_length": _mean(curve["length"][-last:]),
        "late_falls": "" if falls is None else _mean(curve["events"][-last:, falls]),
        "late_entropy": _mean(rollouts["report/mean/entropy"][-last * every :]),
        "late_bonus": _mean(rollouts["normalised"][-last * every :]),
        "runs_in_pack": about["runs"],
        "pack_seconds": round(about["seconds"] * about["runs"], 1),
        "evaluation_steps": rollout_steps * every,
        "evaluation_episodes": config["settings"]["eval_episodes"],
        "successes": " ".join(
            str(round(float(share) * config["settings"]["eval_episodes"]))
            for share in curve["success"]
        ),
    }


def _mean(values: np.ndarray) -> float:
    return round(float(values.mean()), 4)


def take(folder: Path, results: Path) -> int:
    """Add a store's finished runs; how many there are."""
    store = Store(folder, read_only=True)
    configs = [each.config for each in scan(store) if each.status == "finished"]
    before = results / "runs.csv"
    first = len(before.read_text().splitlines()) - 1 if before.exists() else 0
    rows: Table = [row(store.run(config), config) for config in configs]
    add(results, rows)
    numbers = {digest(config): first + i for i, config in enumerate(configs)}
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
    return len(rows)


def main() -> None:
    description = argparse.RawDescriptionHelpFormatter
    args_of = argparse.ArgumentParser(description=__doc__, formatter_class=description)
    args_of.add_argument("store", type=Path)
    args_of.add_argument("results", type=Path)
    args = args_of.parse_args()
    print(f"{take(args.store, args.results)} runs added")


if __name__ == "__main__":
    main()
