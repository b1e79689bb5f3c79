"""A finite POMDP ⟨S, A, O, p, ω, r, γ, μ⟩ in exact fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from clew.machines.exact.graphs import reached
from clew.machines.exact.numbers import NumberLike, is_float, rational
from clew.validate import BadInput, known_names

if TYPE_CHECKING:  # worlds bring numpy, files do without
    import numpy as np
    from numpy.typing import NDArray

Law = Mapping[str, NumberLike] | str
"""A distribution over names; a bare name is certain."""
Film = Callable[[Sequence[int], Sequence[int]], "list[NDArray[np.uint8]]"]
"""From the states of an episode and its history o₀ a₀ o₁ … to a picture of each state."""
End = Literal["stops", "absorbing", "hidden"]
"""What a machine may do once an episode is over: see `clew.machines.model.ends`."""


class Begin(NamedTuple):
    """One way an episode can begin."""

    state: int
    observation: int
    probability: Fraction


class Branch(NamedTuple):
    """One way a step can go. Branches may differ in the reward alone: rewards may be random."""

    state: int
    observation: int
    probability: Fraction
    reward: Fraction


@dataclass(frozen=True, repr=False)
class Pomdp:
    """States, actions and observations are numbers here; their names are for people.

    A step from `s` under `a` takes one of `steps[s][a]`, which gives next state, next observation
    and reward together. So ω may depend on the action, and r on the next state and observation.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    start: tuple[Begin, ...]
    steps: tuple[tuple[tuple[Branch, ...], ...], ...]
    discount: Fraction
    terminal: frozenset[int] = frozenset()
    """States in which the episode is over: they pay nothing and lead to each other only."""
    variables: Mapping[str, tuple[Hashable, ...]] = field(
        default_factory=dict[str, tuple[Hashable, ...]]
    )
    """Named latent variables: the value of each, by state."""
    name: str = "POMDP"
    notes: tuple[str, ...] = ()
    """What was read otherwise than written, such as floats, and where it is not quite the world."""
    end: End = "stops"
    """Whether machines may pay in terminal states. Use `with_end` to change it."""
    draws: int = 0
    """From how many random draws the probabilities are; 0 where they are the world's own."""
    film: Film | None = field(default=None, compare=False, repr=False)
    """Pictures, where the world has them."""

    def __post_init__(self) -> None:
        _check_names(self)
        _check_laws(self)
        _check_terminal(self)
        _check_discount(self)

    def __repr__(self) -> str:
        """In a line, without the laws."""
        sizes = f"{len(self.states):,} states, {len(self.actions):,} actions"
        return f"<{self.name}: {sizes}, {len(self.observations):,} observations>"

    @staticmethod
    def build(
        *,
        states: Sequence[str],
        actions: Sequence[str],
        observations: Sequence[str],
        p: Callable[[str, str], Law],
        omega: Callable[[str], Law],
        r: Callable[[str, str, str], NumberLike],
        gamma: NumberLike,
        mu: Law,
        first: str | None = None,
        terminal: Iterable[str] = (),
        variables: Mapping[str, Callable[[str], Hashable]] | None = None,
        name: str = "POMDP",
    ) -> Pomdp:
        """Write a POMDP the way the definition does: p(s, a), ω(s'), r(s, a, s'), γ, μ.

        `first` names the observation before the first action; without it, o₀ is drawn from ω.
        """
        _check_distinct(states=states, actions=actions, observations=observations)
        at = _Names(states, observations, first)
        begins = (
            Begin(s, o, p_s * p_o)
            for s, p_s in at.law("mu", mu, at.state)
            for o, p_o in at.law("first" if first else "omega", first or omega(states[s]), at.seen)
        )
        steps = tuple(
            tuple(tuple(at.branches(s, a, p(s, a), omega, r)) for a in actions) for s in states
        )
        known_names("terminal state", terminal, states)
        return Pomdp(
            states=tuple(states),
            actions=tuple(actions),
            observations=tuple(at.seen),
            start=tuple(begins),
            steps=steps,
            discount=at.number("gamma", gamma),
            terminal=frozenset(at.state[s] for s in terminal),
            variables={v: tuple(of(s) for s in states) for v, of in (variables or {}).items()},
            name=name,
            notes=at.notes(),
        )

    @cached_property
    def over(self) -> frozenset[int]:
        """The states in which nothing is paid or seen any more, by the convention of the end."""
        return self.terminal if self.end == "stops" else frozenset()

    def reachable(self) -> frozenset[int]:
        """The states that an episode can come to, whatever is done."""
        begins = (begin.state for begin in self.start)
        return frozenset(reached(begins, lambda s: (b.state for row in self.steps[s] for b in row)))


class _Names:
    """Turns names into numbers and numbers into fractions, and remembers what it guessed."""

    def __init__(self, states: Sequence[str], observations: Sequence[str], first: str | None):
        self.state = {name: index for index, name in enumerate(states)}
        self.seen = {name: index for index, name in enumerate(observations)}
        if first is not None:
            self.seen.setdefault(first, len(self.seen))
        self.guessed: dict[float, Fraction] = {}

    def number(self, field: str, value: NumberLike) -> Fraction:
        exact = rational(field, value)
        if is_float(value) and Fraction(value) != exact:
            self.guessed[float(value)] = exact
        return exact

    def law(self, field: str, law: Law, index: Mapping[str, int]) -> Iterable[tuple[int, Fraction]]:
        pairs = {law: 1} if isinstance(law, str) else law
        if not isinstance(pairs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(f"{field}={law!r} is not valid; it must be a name or map names to odds")
        known_names(f"name in {field}", pairs, index)
        exact = [(index[name], self.number(f"{field}[{name}]", w)) for name, w in pairs.items()]
        return [(place, weight) for place, weight in exact if weight]

    def branches(
        self,
        s: str,
        a: str,
        law: Law,
        omega: Callable[[str], Law],
        r: Callable[[str, str, str], NumberLike],
    ) -> Iterable[Branch]:
        names = tuple(self.state)
        for s2, p_s in self.law(f"p({s}, {a})", law, self.state):
            reward = self.number(f"r({s}, {a}, {names[s2]})", r(s, a, names[s2]))
            for o, p_o in self.law(f"omega({names[s2]})", omega(names[s2]), self.seen):
                yield Branch(s2, o, p_s * p_o, reward)

    def notes(self) -> tuple[str, ...]:
        if not self.guessed:
            return ()
        some = ", ".join(f"{value!r} as {exact}" for value, exact in sorted(self.guessed.items()))
        return (f"floats were read as the fractions they stand for: {some}",)


def _check_names(pomdp: Pomdp) -> None:
    _check_distinct(states=pomdp.states, actions=pomdp.actions, observations=pomdp.observations)
    for variable, values in pomdp.variables.items():
        if len(values) != len(pomdp.states):
            raise BadInput(
                f"variable {variable!r} has {len(values)} values; "
                f"it needs one for each of the {len(pomdp.states)} states"
            )


def _check_laws(pomdp: Pomdp) -> None:
    _check_law(pomdp, "start", pomdp.start)
    shape = [len(rows) for rows in pomdp.steps]
    if shape != [len(pomdp.actions)] * len(pomdp.states):
        raise BadInput("steps are not valid; they need a row for every state and action")
    for s, rows in enumerate(pomdp.steps):
        for a, row in enumerate(rows):
            _check_law(pomdp, f"step from {pomdp.states[s]!r} under {pomdp.actions[a]!r}", row)


def _check_law(pomdp: Pomdp, what: str, law: Sequence[Begin] | Sequence[Branch]) -> None:
    for way in law:
        if way.probability <= 0:
            sign = "the negative probability" if way.probability < 0 else "probability"
            raise BadInput(f"{what} has {sign} {way.probability}; each must be above 0")
        if not (0 <= way.state < len(pomdp.states)):
            raise BadInput(f"{what} leads to state {way.state}, which does not exist")
        if not (0 <= way.observation < len(pomdp.observations)):
            raise BadInput(f"{what} shows observation {way.observation}, which does not exist")
    chances = [way.probability for way in law]
    total = chances[0] if len(chances) == 1 else sum(chances, Fraction(0))
    if total != 1:
        raise BadInput(f"{what} has probabilities that sum to {total}, not to 1")


def _check_terminal(pomdp: Pomdp) -> None:
    for begin in pomdp.start:
        if begin.state in pomdp.terminal:
            raise BadInput(
                f"an episode begins in {pomdp.states[begin.state]!r}, which is terminal; "
                "it must begin before it ends"
            )
    for s in pomdp.terminal:
        for branch in (branch for row in pomdp.steps[s] for branch in row):
            if branch.state not in pomdp.terminal or branch.reward:
                raise BadInput(
                    f"terminal state {pomdp.states[s]!r} is not valid; it must pay nothing "
                    "and lead to terminal states only"
                )


def _check_discount(pomdp: Pomdp) -> None:
    """Below 1; or 1, where every episode ends whatever is done, and nothing is paid afterwards."""
    if 0 < pomdp.discount < 1:
        return
    if pomdp.discount != 1:
        raise BadInput(f"discount={pomdp.discount} is not valid; it must lie between 0 and 1")
    if pomdp.end != "stops":
        raise BadInput("discount=1 needs end=stops: machines that pay for ever earn no finite sum")
    endless = _endless(pomdp)
    if endless:
        raise BadInput(
            "discount=1 needs episodes that end whatever is done; from "
            f"{pomdp.states[min(endless)]!r} one can go on for ever, so choose a discount below 1"
        )


def _endless(pomdp: Pomdp) -> set[int]:
    """The largest set of states that some actions never leave, the ends apart."""
    inside = set(pomdp.reachable() - pomdp.terminal)
    while True:
        leaving = {
            s
            for s in inside
            if not any(all(b.state in inside for b in row) for row in pomdp.steps[s])
        }
        if not leaving:
            return inside
        inside -= leaving


def _check_distinct(**names: Sequence[str]) -> None:
    for kind, some in names.items():
        twice = sorted(name for name, count in Counter(some).items() if count > 1)
        if not some or twice:
            problem = f"{twice} occur twice" if twice else "there are none"
            raise BadInput(f"{kind} are not valid: {problem}")
