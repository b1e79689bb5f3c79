"""`clew train`: one arm, with a flag for everything."""

from __future__ import annotations

import dataclasses
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clew.cli.commands.run import execute
from clew.cli.parsing import WorldName
from clew.cli.registry import register
from clew.learner import Knobs, Settings
from clew.suite import Block, Suite, seconds_of
from clew.suite.launchers import WorkerConfig
from clew.validate import BadInput


@dataclasses.dataclass(frozen=True)
class KnobFlags(Knobs):
    """Numbers that runs of one program may differ in."""

    def __post_init__(self) -> None:
        """Checked with all the rest, and not while flags are read."""


@dataclasses.dataclass(frozen=True)
class SettingFlags(Settings):
    """What a program is compiled for."""

    def __post_init__(self) -> None:
        """Checked with all the rest, and not while flags are read."""


KNOBS, SETTINGS = KnobFlags(), SettingFlags()


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
    knobs: KnobFlags = KNOBS,
    settings: SettingFlags = SETTINGS,
    store: Path = Path("results"),
    pack_size: int | None = None,
    time_limit: str | None = None,
    retry: bool = False,
    tensorboard: bool = False,
    json: bool = False,
) -> None:
    """Train one arm into a store. `clew list` names what there is to choose from.

    Knobs and settings begin with the values that all of the study's environments share. Ends with
    0 if every run is finished, 3 if some failed or diverged, 4 if some are left.

    Args:
        environment: The world.
        reward: One of its variants.
        architecture: The memory.
        steps: Environment steps of each run.
        bonus: The exploration bonus.
        seeds: How many, from 0 on.
        environment_options: Such as view=7.
        architecture_options: Such as heads=4.
        bonus_options: Such as count_first=false.
        knobs: Numbers that runs of one program may differ in.
        settings: What a program is compiled for.
        store: Folder for the results; several workers may share one.
        pack_size: Runs trained side by side; chosen for this device if not given.
        time_limit: Stop at a checkpoint after so long, such as 25m.
        retry: Train runs again that failed or diverged.
        tensorboard: Write TensorBoard's files too, into the store.
        json: Print one JSON object a line instead of progress bars.
    """
    block = Block(
        environment=environment,
        environment_options=parsed("environment_options", environment_options),
        rewards=(reward,),
        architectures=(architecture,),
        architecture_options={architecture: parsed("architecture_options", architecture_options)},
        bonuses=(bonus,),
        bonus_options={bonus: parsed("bonus_options", bonus_options)},
        seeds=seeds,
        steps=steps,
        knobs=dataclasses.asdict(knobs),
        settings=dataclasses.asdict(settings),
    )
    suite = Suite(name=f"{environment} / {reward} / {architecture} / {bonus}", blocks=[block])
    for each in suite.runs():
        each.program()  # what cannot be built is refused before there is a store
    limit = None if time_limit is None else seconds_of(time_limit)
    config = WorkerConfig(suite=suite, store=store, pack_size=pack_size, time_limit=limit)
    sys.exit(execute(config, 1, retry, json, tensorboard))


def parsed(field: str, given: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs; values as in TOML, and whatever TOML does not know is text."""
    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise BadInput(f"{field}={each!r} is not valid; write name=value, such as view=7")
        if name in found:
            raise BadInput(f"{field} names {name!r} twice")
        try:
            (found[name],) = tomllib.loads(f"value = {value}").values()
        except (tomllib.TOMLDecodeError, ValueError):
            found[name] = value
    return found
