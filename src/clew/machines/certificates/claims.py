"""What can be claimed of a POMDP, a reward machine or both, and the evidence that proves it.

`clew.machines.deciding` makes these certificates; `verify` checks them and shares no code with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from clew.machines.model.belief import BeliefCell, Filter
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import PomdpRM

History = tuple[int, ...]
"""o₀ a₀ o₁ a₁ …: observations and actions in turn."""


Site = tuple[int, int]
"""(observation, machine state)."""


Triple = tuple[int, int, int]
"""(state, observation, machine state)."""


Pair = tuple[int, int]
"""Two classes with the same observation, the smaller number first."""


class Vector(NamedTuple):
    """A history and its filter, scaled to whole numbers without a common factor."""

    history: History
    site: Site
    weights: dict[int, int]


class Returns(NamedTuple):
    """Expected discounted returns under one policy."""

    pomdp: Fraction
    machine: Fraction


class Tails(NamedTuple):
    """Expected returns from every triple under one policy."""

    pomdp: Mapping[Triple, Fraction]
    machine: Mapping[Triple, Fraction]


@dataclass(frozen=True)
class Encodes:
    """Proof: Ψ(h) = Σ_s Pr(s | h) · potential[s, o, u], checked on a basis of histories."""

    product: PomdpRM
    potential: Mapping[Triple, Fraction]
    basis: tuple[Vector, ...]


@dataclass(frozen=True)
class Differs:
    """Proof of the contrary: two policies, of which at least one has different returns.

    Both repeat the action `default`, except that along `history` they take its actions. At its
    end, one takes `action` and the other `default`; both then repeat `default`.
    """

    product: PomdpRM
    history: History
    action: int
    default: int
    tail: Tails
    """What repeating `default` earns, from everywhere."""
    with_action: Returns
    with_default: Returns

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Refuted:
    """No rewards make this structure an encoder: these multiples of the equations read 0 = 1.

    An equation belongs to a history of the basis and an action; None stands for the start.
    """

    product: PomdpRM
    multiples: tuple[tuple[History | None, int, Fraction], ...]

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Perfect:
    """Proof: basis histories at one site have one law of the next step; by linearity all do."""

    product: PomdpRM
    basis: tuple[Vector, ...]


@dataclass(frozen=True)
class Mixed:
    """Proof of the contrary: two histories at one site with different next steps."""

    product: PomdpRM
    first: History
    second: History
    action: int

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Pooled:
    """Certificate: two histories with one last observation end in one state of an encoder."""

    encodes: Encodes
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True)
class Distinctions:
    """Evidence that pairs of cells are unpoolable, in a form that can be checked.

    Cells are grouped into classes that no future tells apart; pairs are pairs of classes.
    """

    pomdp: Pomdp
    cells: tuple[BeliefCell, ...]
    class_of: tuple[int, ...]
    chosen: Mapping[Pair, int]
    """The action whose equation forces the gap of a pair; successors are forced or equal."""
    forced: Mapping[Pair, Fraction]
    conflicts: Mapping[Pair, int]
    """A second action that demands another gap."""
    route: Mapping[Pair, tuple[int, int] | None]
    """(action, o') towards a conflict; None at one."""


@dataclass(frozen=True)
class Dense:
    """Certificate: every two cells that can be told apart are unpoolable."""

    distinctions: Distinctions


@dataclass(frozen=True)
class Sparse:
    """Certificate: a machine that encodes the reward and is not perfect."""

    product: PomdpRM
    encodes: Encodes
    mixed: Mixed


@dataclass(frozen=True)
class Loop:
    """A word that leads back to the last observation of a history, again and again."""

    pomdp: Pomdp
    history: History
    word: History
    """a o a o …"""
    settled: int
    """Repetitions after which none loses a dimension any more."""


@dataclass(frozen=True)
class Unencodable:
    """Certificate: no finite machine encodes, because one state would have to pool a whole loop.

    A multiple is (which vector of the loop's basis, a further word, action, factor): together
    these multiples of an encoder's equations read 0 = 1.
    """

    loop: Loop
    multiples: tuple[tuple[int, History, int, Fraction], ...]


@dataclass(frozen=True)
class NeverPerfect:
    """Certificate: no finite machine is perfect. Around the loop, and after the word `then`, the
    action has different next steps for histories that every finite machine pools.

    The reward is sparse: whatever machine encodes it, if any does, is not perfect.
    """

    loop: Loop
    then: History
    action: int


@dataclass(frozen=True)
class Undecided:
    """What is known, and what is missing."""

    pomdp: Pomdp
    reason: str


Verdict = Dense | Sparse | Unencodable | NeverPerfect | Undecided


def verdict_name(verdict: Verdict) -> str:
    """'dense', 'sparse' or 'undecided'."""
    never = isinstance(verdict, Unencodable | NeverPerfect)
    return "sparse" if never else type(verdict).__name__.lower()


@dataclass(frozen=True)
class Bound:
    """Cells with one observation, every two of which are unpoolable: a state each."""

    distinctions: Distinctions
    cells: tuple[int, ...]

    @property
    def states(self) -> int:
        """The lower bound on the number of machine states."""
        return len(self.cells)


@dataclass(frozen=True)
class Optimal:
    """V* over cells, the optimal actions of each, and J*."""

    beliefs: Filter
    values: tuple[Fraction, ...]
    actions: tuple[tuple[int, ...], ...]
    value: Fraction
