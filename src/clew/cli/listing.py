"""What can be named, as data: environments, architectures, bonuses, suites, hyperparameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from clew.bonuses.registry import bonuses
from clew.envs.hosted.host import UNSTATED, listable
from clew.envs.pricelist import price_list
from clew.envs.registry import environments, hosted, latents
from clew.memory.registry import GIVEN, architectures
from clew.outline import REQUIRED, Option, outline_of, read_outline
from clew.registry import Registry
from clew.suite.registry import suites

if TYPE_CHECKING:
    from clew.envs.hosted.environment import HostedEnvironment

NAMED: dict[str, Registry] = {
    "environments": environments,
    "architectures": architectures,
    "bonuses": bonuses,
    "suites": suites,
    "latents": latents,
}
SINGULAR = {kind: registry.kind for kind, registry in NAMED.items()}
HYPERPARAMETERS = {"knobs": "Knobs", "settings": "Settings"}
"""Groups of options that belong to no name, and the classes that hold them."""


class Listed(NamedTuple):
    """What is said of a name."""

    kind: str
    """As in `NAMED`."""
    name: str
    about: str
    description: str
    options: tuple[Option, ...]
    meant: Mapping[str, object]
    """Options that the name stands for."""
    same_as: str
    """The first name that stands for the same thing with other options; its own if it is that."""
    rewards: Mapping[str, Mapping[str, float]]
    """Of an environment with its default options: what each variant pays for each event."""
    events: Mapping[str, str]
    """Of an environment: what happens in it that may be paid for."""
    origin: str
    """The package or module that brings it; empty for what is Clew's own."""
    needs: Mapping[str, object] = MappingProxyType({})
    """Options without which nothing can be trained on it, with values for an example."""

    def plain(self) -> dict[str, object]:
        """For a script."""
        found: dict[str, object] = {"about": self.about, "description": self.description}
        found |= {"options": plain_options(self.options)}
        found |= {"stands_for": dict(self.meant)} if self.meant else {}
        found |= {"from": self.origin} if self.origin else {}
        return found | (
            {"rewards": self.rewards, "events": self.events} if self.kind == "environments" else {}
        )


def listed() -> list[Listed]:
    """Everything that has a name. What lies in this package is read, and not imported."""
    return [entry for kind in NAMED for entry in _of_kind(kind)]


def problems() -> list[str]:
    """What installed packages offer and is left out, and why."""
    return [problem for registry in NAMED.values() for problem in registry.problems]


def hyperparameters(kind: str) -> tuple[Option, ...]:
    """The knobs, or the settings."""
    return read_outline(f"clew.learner.settings:{HYPERPARAMETERS[kind]}").options


def plain_options(options: tuple[Option, ...]) -> list[dict[str, object]]:
    """For a script; what has no default must be given."""
    plain = [option._asdict() for option in options]
    return [{k: v for k, v in each.items() if v is not REQUIRED} for each in plain]


def listed_as(name: str) -> list[Listed]:
    """A Gymnasium environment, which is made to be described; nothing, if it names none."""
    if not hosted(name):
        return []
    (it,) = _entries("environments", [name])
    env = listable(name)
    about = f"{it.about} {env.describe()}"
    # `options` are all others: those of the function
    options = [option for option in it.options if option.name not in ("name", "options")]
    return [it._replace(about=about, options=(*_of_function(name), *options), needs=_needs(env))]


def _needs(env: HostedEnvironment) -> dict[str, object]:
    """A time limit, if it has none; a measure of success, if it may have none."""
    from clew.envs.hosted.copies import says_success

    limit: dict[str, object] = {"max_episode_steps": 500} if env.horizon == UNSTATED else {}
    return limit if says_success(env) else {**limit, "success_return": 1}


def _of_function(name: str) -> list[Option]:
    """What the function that makes an environment can be given; it may say what it means."""
    from clew.envs.hosted.recipe import GYMNASIUM, imported

    if name.startswith(GYMNASIUM):
        return []
    function = imported(name)
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters
    left_out = {"num_envs", *(n for n, each in parameters.items() if each.kind in several)}
    options = (o for o in outline_of(function).options if o.name not in left_out)
    return [o._replace(about=o.about or "Handed to the function.") for o in options]


def _of_kind(kind: str) -> Iterator[Listed]:
    return _entries(kind, sorted(NAMED[kind].names(), key=_natural))


def _entries(kind: str, names: Iterable[str]) -> Iterator[Listed]:
    first: dict[str, str] = {}
    for name in names:
        entry = NAMED[kind][name]
        outline = entry.outline()
        paid = price_list(name) if kind == "environments" else None
        yield Listed(
            kind,
            name,
            outline.about,
            outline.description,
            # a latent is made of a world, and has no options
            tuple(o for o in outline.options if o.name not in GIVEN and kind != "latents"),
            entry.preset,
            first.setdefault(entry.identity, name),
            paid.rewards if paid else {},
            paid.events if paid else {},
            entry.origin,
        )


def _natural(name: str) -> list[tuple[str, int]]:
    """Without regard to case, and S7 before S13."""
    return [(word.lower(), int(part or 0)) for word, part in re.findall(r"(\D*)(\d*)", name)]
