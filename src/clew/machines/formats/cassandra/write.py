"""A `Pomdp` into Cassandra's `.POMDP` text, if the format can say it.

The format has no observation before the first action, an observation depends on action and next
state only, and a reward is certain. A model that needs more is refused with the reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from clew.machines.formats.cassandra.parser import RESERVED
from clew.machines.formats.numbers import distribution, recognisable, written
from clew.machines.formats.text import Place
from clew.machines.model.pomdp import Branch, Pomdp
from clew.validate import BadInput

Odds = Mapping[int, Fraction]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


def pomdp_text(pomdp: Pomdp, rename: bool = False) -> str:
    """The text of `pomdp`; reading it back gives the same model.

    With `rename`, names that the format does not allow become numbers; otherwise they are refused.
    Terminal states stay as states that are never left, latent variables are not written.
    """
    return "\n".join(_Writer(pomdp, rename).lines()) + "\n"


class _Writer:
    def __init__(self, pomdp: Pomdp, rename: bool):
        self.pomdp = pomdp
        first = _first_observation(pomdp)
        self.observations = [o for o in range(len(pomdp.observations)) if o != first]
        shown = [pomdp.observations[o] for o in self.observations]
        if not shown:
            raise BadInput(f"{pomdp.name} cannot be written: no step shows an observation")
        self.states, self.actions, seen = (
            _names(kind, names, rename)
            for kind, names in (
                ("states", pomdp.states),
                ("actions", pomdp.actions),
                ("observations", shown),
            )
        )
        self.seen = dict(zip(self.observations, seen, strict=True))

    def lines(self) -> Iterable[str]:
        start: dict[int, Fraction] = defaultdict(Fraction)
        for begin in self.pomdp.start:
            start[begin.state] += begin.probability
        yield f"discount: {_number('discount', self.pomdp.discount)}"
        yield "values: reward"
        for kind, names in (
            ("states", self.states),
            ("actions", self.actions),
            ("observations", list(self.seen.values())),
        ):
            yield f"{kind}: {len(names) if _counted(names) else ' '.join(names)}"
        yield f"start: {self.row(start, range(len(self.states)), 'start')}"
        for a, action in enumerate(self.actions):
            yield ""
            yield from self.about(a, action)

    def about(self, a: int, action: str) -> Iterable[str]:
        """Everything about one action."""
        observations: dict[int, tuple[int, Odds]] = {}
        rewards: list[str] = []
        for s, state in enumerate(self.states):
            move, seen, pays = _factors(self.pomdp, s, a)
            for s2, law in seen.items():
                if observations.setdefault(s2, (s, law))[1] != law:
                    raise BadInput(
                        f"{self.pomdp.name} cannot be written: what is observed in "
                        f"{self.pomdp.states[s2]!r} after {self.pomdp.actions[a]!r} depends on the "
                        f"state before ({self.pomdp.states[observations[s2][0]]!r} or "
                        f"{self.pomdp.states[s]!r})"
                    )
            what = f"step from {self.pomdp.states[s]!r} under {self.pomdp.actions[a]!r}"
            yield f"T: {action} : {state} {self.row(move, range(len(self.states)), what)}"
            rewards += self.pays(f"R: {action} : {state}", pays)
        for s2, state in enumerate(self.states):
            what = f"observation in {self.pomdp.states[s2]!r} after {self.pomdp.actions[a]!r}"
            # a state that this action never leads to: nothing depends on its row
            law = observations[s2][1] if s2 in observations else {self.observations[0]: Fraction(1)}
            yield f"O: {action} : {state} {self.row(law, self.observations, what)}"
        yield from rewards

    def pays(self, head: str, pays: Mapping[tuple[int, int], Fraction]) -> Iterable[str]:
        """The rewards of a state and action, by next state and observation."""
        amounts = set(pays.values())
        if len(amounts) == 1:
            yield from _reward(f"{head} : * : *", amounts.pop())
            return
        for (s2, o), amount in pays.items():
            yield from _reward(f"{head} : {self.states[s2]} : {self.seen[o]}", amount)

    def row(self, law: Odds, columns: Sequence[int], what: str) -> str:
        """A row of probabilities, written so that the reader means the same ones."""
        texts = {c: _number(what, law.get(c, Fraction(0))) for c in columns}
        read = distribution({c: written(text, Place(1, 1)) for c, text in texts.items()}, [])
        if read != {c: p for c, p in law.items() if p}:
            raise BadInput(f"{what} has probabilities that decimals cannot say; write JSON instead")
        return " ".join(texts.values())


def _first_observation(pomdp: Pomdp) -> int:
    shown = {begin.observation for begin in pomdp.start}
    later = {branch.observation for rows in pomdp.steps for row in rows for branch in row}
    if len(shown) > 1 or shown & later:
        some = pomdp.observations[min(shown)]
        raise BadInput(
            f"{pomdp.name} cannot be written: the format has no observation before the first "
            f"action, and here it is one of {len(shown)} or one that comes again, such as "
            f"{some!r}; write JSON instead"
        )
    return shown.pop()


def _factors(
    pomdp: Pomdp, s: int, a: int
) -> tuple[Odds, Mapping[int, Odds], dict[tuple[int, int], Fraction]]:
    """Where a step leads, what is seen there, and what it pays."""
    move: dict[int, Fraction] = defaultdict(Fraction)
    joint: dict[int, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    pays: dict[tuple[int, int], Fraction] = {}
    branch: Branch
    for branch in pomdp.steps[s][a]:
        move[branch.state] += branch.probability
        joint[branch.state][branch.observation] += branch.probability
        if pays.setdefault((branch.state, branch.observation), branch.reward) != branch.reward:
            raise BadInput(
                f"{pomdp.name} cannot be written: the step from {pomdp.states[s]!r} under "
                f"{pomdp.actions[a]!r} pays at random; write JSON instead"
            )
    seen = {s2: {o: p / move[s2] for o, p in law.items()} for s2, law in joint.items()}
    return move, seen, pays


def _names(kind: str, names: Sequence[str], rename: bool) -> list[str]:
    bad = [name for name in names if not _NAME.fullmatch(name) or name in RESERVED]
    if not bad or _counted(names):
        return list(names)
    if rename:
        return [str(i) for i in range(len(names))]
    raise BadInput(
        f"{kind} of this name cannot be written: {bad[0]!r}; a name has letters, digits, '_', '-' "
        "and '.' and begins with a letter (rename=True writes numbers instead)"
    )


def _counted(names: Sequence[str]) -> bool:
    return list(names) == [str(i) for i in range(len(names))]


def _reward(head: str, amount: Fraction) -> Iterable[str]:
    if amount:
        yield f"{head} {_number(head, amount)}"


def _number(what: str, value: Fraction) -> str:
    text = recognisable(value)
    if text is None:
        raise BadInput(f"{what} has the number {value}, too long for decimals; write JSON instead")
    return text
