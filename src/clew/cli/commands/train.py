"""`clew train`: one arm, with a flag for everything."""

from __future__ import annotations

import dataclasses
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from clew.cli.parsing import WorldName
from clew.cli.registry import register
from clew.learner import Knobs, Settings
from clew.validate import BadInput

KNOBS, SETTINGS = Knobs(), Settings()
BARE = re.compile(r"[+-]?(\d+\.|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
"""A number that TOML does not know: `.5` and `1.`."""


@register("train")
def train(
    environment: WorldName,
    /,
    reward: str,
    architecture: str,
    steps: int,
    bonus: str = "none",
    seeds: int = 10,
    environment_options: tuple[str, ...] = (),
    architecture_options: tuple[str, ...] = (),
    bonus_options: tuple[str, ...] = (),
    knobs: Knobs = KNOBS,
    settings: Settings = SETTINGS,
    store: Path = Path("results"),
    pack_size: int | None = None,
    time_limit: str | None = None,
    retry: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    no_cache: bool = False,
    tensorboard: bool = False,
    wandb: bool = False,
    json: bool = False,
) -> None:
    """Train one arm: an environment, a reward, an architecture and a bonus, over several seeds.

    Names to choose from are in `clew list`. Knobs and settings have the values that all
    environments of the study share. Exit code: 0 if every run is finished, 3 if some failed or
    diverged, 4 if some are not finished.

    Args:
        environment: The environment.
        reward: A reward variant of the environment.
        architecture: The architecture of the memory.
        steps: Environment steps of each run. Whole periods are trained, each of eval_every × envs ×
            steps of the settings, 81,920 if these are not given; what is left over is not.
        bonus: The exploration bonus.
        seeds: Number of seeds, counted from 0.
        environment_options: Options of the environment, such as view=7.
        architecture_options: Options of the architecture, such as heads=4.
        bonus_options: Options of the bonus, such as count_first=false.
        knobs: Hyperparameters in which the runs of one compiled program may differ.
        settings: Hyperparameters that a program is compiled for.
        store: Folder for the results; several workers may share one.
        pack_size: Runs trained together in one program; if not given, as many as suit this device.
        time_limit: Stop at a checkpoint after this time, such as 25m or 2h.
        retry: Train failed and diverged runs again.
        dry_run: Only say what there is to do, how long it would take, and how much it would write.
        yes: Go ahead with more than 20,000 runs.
        no_cache: Neither read nor keep compiled programs in the user's cache folder.
        tensorboard: Log for TensorBoard while it trains, into the store.
        wandb: Log for Weights & Biases while it trains; without an account, into the store.
        json: Print one JSON object a line instead of progress bars.
    """
    from clew.cli.dry_run import print_forecast, require_moderate
    from clew.cli.output import json_alone
    from clew.cli.training import train_here
    from clew.suite import Block, Suite, seconds_of
    from clew.suite.launchers import WorkerConfig
    from clew.suite.logs import chosen

    with json_alone(json):  # an environment may print
        block = Block(
            environment=environment,
            environment_options=parse_options("environment_options", environment_options),
            rewards=(reward,),
            architectures=(architecture,),
            architecture_options={
                architecture: parse_options("architecture_options", architecture_options)
            },
            bonuses=(bonus,),
            bonus_options={bonus: parse_options("bonus_options", bonus_options)},
            seeds=seeds,
            steps=steps,
            knobs=dataclasses.asdict(knobs),
            settings=dataclasses.asdict(settings),
        )
        suite = Suite(name=f"{environment} / {reward} / {architecture} / {bonus}", blocks=[block])
        require_moderate(suite, yes)
        for run in block.samples():
            run.program()  # what cannot be built is refused before there is a store
        limit = None if time_limit is None else seconds_of(time_limit)
        config = WorkerConfig(
            suite=suite,
            store=store,
            pack_size=pack_size,
            time_limit=limit,
            cache=not no_cache,
            logs=chosen(tensorboard=tensorboard, wandb=wandb),
        )
        if dry_run:
            print_forecast(config, 1, retry, json)
            return
        sys.exit(train_here(config, 1, retry, json))


def parse_options(field: str, given: Sequence[str]) -> dict[str, object]:
    """`name=value` pairs. Values are written as in TOML; what is not TOML is text."""
    found: dict[str, object] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadInput(f"{field}={pair!r} is not valid; write name=value, such as view=7")
        if name in found:
            raise BadInput(f"{field} names {name!r} twice")
        try:
            (found[name],) = tomllib.loads(f"value = {value}").values()
        except (tomllib.TOMLDecodeError, ValueError):
            found[name] = float(value) if BARE.fullmatch(value) else value
    return found
