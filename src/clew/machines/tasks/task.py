"""One task, and the answer about it."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.envs.registry import hosted
from clew.machines.exact.numbers import meant_by
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.machines.deciding.classify import Summary
    from clew.machines.model.pomdp import Pomdp

UNDECIDED = "undecided"


@dataclass(frozen=True)
class TaskSpec:
    """A world with its options, and what is paid in it."""

    environment: str
    reward: str
    options: Mapping[str, object] = field(default_factory=dict)
    prices: Mapping[str, float] | None = None
    """By event; None for what the world's variant of this name pays."""
    discount: str = "99/100"

    @staticmethod
    def of_run(config: Mapping[str, Any]) -> TaskSpec:
        """From the configuration that a store keeps of a run."""
        gamma = float(config.get("knobs", {}).get("gamma", 0.99))
        return TaskSpec(
            environment=str(config["environment"]),
            reward=str(config["reward"]),
            options=dict(config.get("environment_options", {})),
            prices=config.get("prices"),
            discount=str(meant_by(gamma)),
        )

    @property
    def key(self) -> str:
        """Equal tasks have equal keys: an event without a price is no event."""
        plain = asdict(self)
        if self.prices is not None:
            plain["prices"] = {event: price for event, price in self.prices.items() if price}
        return json.dumps(plain, sort_keys=True)

    @property
    def command(self) -> str:
        """How to ask for the answer by hand."""
        chosen = {**self.options, "reward": self.reward, "discount": self.discount}
        words = [f"{name}={_word(value)}" for name, value in chosen.items()]
        return shlex.join(["clew", "classify", self.environment, "--options", *words])


def _word(value: object) -> str:
    """As the command line takes it."""
    return json.dumps(value).strip('"')


@dataclass(frozen=True)
class TaskVerdict:
    """What was decided of a task, or of a smaller one in its place, or why nothing was."""

    task: TaskSpec
    summary: Summary | None = None
    smaller: Mapping[str, object] = field(default_factory=dict)
    """Options of the world that was looked at, where they are not the task's own."""
    refused: str = ""
    """Why the task itself was not decided."""

    @staticmethod
    def of(plain: Mapping[str, Any]) -> TaskVerdict:
        """From what JSON gives back."""
        return TaskVerdict(**{**plain, "task": TaskSpec(**plain["task"])})


def decide(task: TaskSpec) -> TaskVerdict:
    """Classify the task; where it is too large or stays undecided, a smaller world of its kind."""
    answer, refused = None, ""
    try:
        answer = _answer(task, {})
        if answer["verdict"] != UNDECIDED:
            return TaskVerdict(task, answer)
        refused = "; ".join(answer["reasons"])
    except BadInput as error:
        refused = str(error)
        if hosted(task.environment):
            refused += f"; by hand: {replace(task, reward='native').command}"
    with contextlib.suppress(BadInput):
        smaller = _smaller(task)
        if smaller:
            chosen = ", ".join(f"{name}={json.dumps(value)}" for name, value in smaller.items())
            answer = _answer(task, smaller)
            answer["notes"].append(f"of a smaller relative of the task: {chosen}")
            return TaskVerdict(task, answer, smaller, refused)
    return TaskVerdict(task, answer, refused="" if answer else refused)


def _answer(task: TaskSpec, instead: Mapping[str, object]) -> Summary:
    from clew import envs
    from clew.machines.deciding.classify import classify, summary
    from clew.machines.worlds import from_env

    if hosted(task.environment):
        return summary(classify(_hosted(task)))
    world = envs.make(task.environment, **{**task.options, **instead})
    reward = _reward(task)
    return summary(classify(from_env(world, reward=reward, discount=task.discount)))


def _hosted(task: TaskSpec) -> Pomdp:
    """A Gymnasium environment, which may fail in ways of its own."""
    from clew.machines.worlds import from_env

    paid = {event for event, price in (task.prices or {}).items() if price}
    if task.reward != "native" or paid - {"reward"}:
        raise BadInput(
            "of a Gymnasium environment, the reward that it pays itself (native) can be decided; "
            f"what {task.reward!r} pays is judged when an episode has ended"
        )
    options: dict[str, Any] = {**task.options, "discount": task.discount}
    try:
        return from_env(task.environment, **options)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"{task.environment} failed ({type(error).__name__}: {error})") from error


def _reward(task: TaskSpec) -> str | dict[str, float]:
    """The variant by its name if it pays what was paid: prices of a smaller world may differ."""
    from clew import envs

    world = envs.make(task.environment, **task.options)
    if task.prices is None:
        return task.reward
    if task.reward in world.reward_variants():
        variant = dict(zip(world.event_names, map(float, world.prices(task.reward)), strict=True))
        if variant == {event: float(task.prices.get(event, 0.0)) for event in variant}:
            return task.reward
    return {event: price for event, price in task.prices.items() if price}


def _smaller(task: TaskSpec) -> dict[str, object]:
    """Options of a smaller world of the same kind; none if there is no smaller one."""
    from clew import envs
    from clew.machines.worlds import smaller

    if hosted(task.environment):
        return {}
    chosen = smaller(envs.make(task.environment, **task.options), _reward(task))
    return {name: value for name, value in chosen.items() if task.options.get(name) != value}
