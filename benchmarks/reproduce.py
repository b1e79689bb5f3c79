"""Train arms at the paper's settings: tail means over seeds, one pack an arm.

For example `python benchmarks/reproduce.py TinyReproduce dense --architectures GRU --seeds 10`.
With --out, one line of JSON an arm is written when its budget or its time is spent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path

import jax
import numpy as np

from clew import bonuses, memory
from clew.learner import Knobs, Pack, Settings, periods
from clew.metrics import tail_mean

STEPS = {"TinyReproduce": 10_000_000}
KNOBS = {
    "TinyReproduce": Knobs(learning_rate=1e-3),
    "MiniGrid-MemoryS13": Knobs(learning_rate=3e-4, gamma=0.999),
}
SETTINGS = {"MiniGrid-MemoryS13": Settings(chunk=32, gae_lambda=0.98)}


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


def arm(args: argparse.Namespace, architecture: str, bonus: str) -> dict[str, object]:
    settings = dataclasses.replace(
        SETTINGS.get(args.environment, Settings()), **options(args.settings)
    )
    knobs = dataclasses.replace(KNOBS.get(args.environment, Knobs()), **options(args.knobs))
    pack = Pack.of(
        args.environment,
        args.reward,
        architecture,
        bonuses.make(bonus, **options(args.bonus_options)),
        seeds=range(args.seeds),
        knobs=knobs,
        settings=settings,
    )
    began, success, normalised, spent, state = time.perf_counter(), [], [], 0.0, None
    for now in periods(pack, args.steps or STEPS.get(args.environment, 20_000_000)):
        success.append(now.record.evaluation.success)
        normalised.append(now.record.rollouts.normalised.mean(1))
        spent += now.seconds
        state = now.state
        if now.period % 10 == 1:
            print(
                architecture,
                bonus,
                now.period,
                now.periods,
                f"{spent:.0f}s",
                success[-1],
                flush=True,
            )
        if time.perf_counter() - began > args.seconds:
            break
    curve = np.stack(success, 1)
    return {
        "environment": args.environment,
        "reward": args.reward,
        "architecture": architecture,
        "bonus": bonus,
        "steps": settings.period * len(success),
        "tail_mean": tail_mean(curve).tolist(),
        "curve": np.round(curve, 3).tolist(),
        "normalised_bonus": float(np.mean(normalised)),
        "first_success": np.asarray(state.first_success).tolist(),
        "diverged": np.asarray(state.diverged).tolist(),
        "seconds": spent,
        "compile_seconds": time.perf_counter() - began - spent,
        "device": jax.devices()[0].device_kind,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment")
    parser.add_argument("reward")
    parser.add_argument("--architectures", nargs="+", default=list(memory.names()))
    parser.add_argument("--bonuses", nargs="+", default=["none"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each arm")
    parser.add_argument("--settings", nargs="*", default=[], help="such as truncation=end")
    parser.add_argument("--knobs", nargs="*", default=[], help="such as learning_rate=1e-3")
    parser.add_argument("--bonus-options", nargs="*", default=[], help="such as count_first=false")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for architecture in args.architectures:
        for bonus in args.bonuses:
            result = arm(args, architecture, bonus)
            tail = np.array(result["tail_mean"])
            print(
                f"{args.environment} {args.reward} {architecture} {bonus}: "
                f"{tail.mean():.3f} ± {tail.std():.3f} (n={len(tail)}) "
                f"after {result['steps']:,} steps in {result['seconds']:.0f} s",
                flush=True,
            )
            if args.out:
                with args.out.open("a") as file:
                    file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
