"""Random models for the round trips."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from clew.machines import Begin, Branch, Edge, Labelling, Pomdp, PomdpRM, RewardMachine
from clew.machines.formats import FIRST
from clew.machines.formats.cassandra.parser import RESERVED
from clew.machines.model.ends import ENDS

WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,6}", fullmatch=True).filter(
    lambda word: word not in RESERVED
)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
FRACTIONS = st.fractions(max_denominator=97).map(lambda x: x % 1000 - 500)


@st.composite
def laws(draw: st.DrawFn, n: int, most: int = 12) -> dict[int, Fraction]:
    """A distribution over up to three of `n` things with small weights."""
    chosen = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True))
    weights = [draw(st.integers(1, most)) for _ in chosen]
    return {i: Fraction(w, sum(weights)) for i, w in sorted(zip(chosen, weights, strict=True))}


@st.composite
def cassandra_pomdps(draw: st.DrawFn) -> Pomdp:
    """A POMDP that the `.POMDP` format can say, in the order its reader gives."""
    n, k, m = (draw(st.integers(1, 4)) for _ in range(3))
    numbered = draw(st.booleans())
    states, actions, seen = (
        tuple(str(i) for i in range(size))
        if numbered
        else tuple(draw(st.lists(WORDS, min_size=size, max_size=size, unique=True)))
        for size in (n, k, m)
    )
    observations = [[draw(laws(m)) for _ in range(n)] for _ in range(k)]
    rewards = st.sampled_from(draw(st.lists(FRACTIONS, min_size=1, max_size=3)))
    steps = tuple(
        tuple(
            tuple(
                Branch(s2, o, p * q, draw(rewards))
                for s2, p in draw(laws(n)).items()
                for o, q in observations[a][s2].items()
            )
            for a in range(k)
        )
        for _ in range(n)
    )
    start = tuple(Begin(s, m, p) for s, p in draw(laws(n)).items())
    discount = draw(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=1000))
    return Pomdp(states, actions, (*seen, FIRST), start, steps, discount)


def _distinct(n: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(TEXT, min_size=n, max_size=n, unique=True).map(tuple)


@st.composite
def pomdps(draw: st.DrawFn) -> Pomdp:
    """Any POMDP: odd names, random rewards, first observations, terminal states, variables."""
    n, k, m = (draw(st.integers(1, 3)) for _ in range(3))
    places = [(s, o) for s in range(n) for o in range(m)]

    def branches(s: int) -> tuple[Branch, ...]:
        if s == 0 and ends:
            return (Branch(0, draw(st.integers(0, m - 1)), Fraction(1), Fraction(0)),)
        return tuple(
            Branch(*places[i], p, draw(st.fractions())) for i, p in draw(laws(n * m)).items()
        )

    ends = n > 1 and draw(st.booleans())
    # no episode begins where it ends
    begins = places[m:] if ends else places
    values: Any = st.recursive(
        TEXT | st.integers() | st.booleans() | st.none() | st.fractions(),
        lambda inner: st.lists(inner, max_size=2).map(tuple),
        max_leaves=3,
    )
    return Pomdp(
        draw(_distinct(n)),
        draw(_distinct(k)),
        draw(_distinct(m)),
        tuple(Begin(*begins[i], p) for i, p in draw(laws(len(begins))).items()),
        tuple(tuple(branches(s) for _ in range(k)) for s in range(n)),
        draw(st.fractions(Fraction(1, 10**6), Fraction(10**6 - 1, 10**6))),
        frozenset({0}) if ends else frozenset(),
        draw(st.dictionaries(TEXT, st.tuples(*[values] * n), max_size=2)),
        draw(TEXT),
        tuple(draw(st.lists(TEXT, max_size=2))),
        draw(st.sampled_from(ENDS)),
        draw(st.integers(0, 99)),
    )


@st.composite
def machines(
    draw: st.DrawFn, propositions: st.SearchStrategy[str] = TEXT, numbered: bool = False
) -> RewardMachine:
    """Any reward machine."""
    n = draw(st.integers(1, 4))
    known = draw(st.lists(propositions, max_size=3, unique=True))
    ends = draw(st.frozensets(st.integers(0, n - 1), max_size=n - 1))
    labels = st.frozensets(st.sampled_from(known)) if known else st.just(frozenset())
    edges = st.builds(Edge, st.integers(0, n - 1), st.fractions(max_denominator=1000))
    rows = tuple({} if u in ends else draw(st.dictionaries(labels, edges)) for u in range(n))
    names = tuple(str(u) for u in range(n)) if numbered else draw(_distinct(n))
    return RewardMachine(names, rows, draw(st.integers(0, n - 1)), ends, "machine")


@st.composite
def products(draw: st.DrawFn) -> PomdpRM:
    """A POMDP with a machine and some labels."""
    pomdp = draw(pomdps())
    m, k = len(pomdp.observations), len(pomdp.actions)
    triples = st.tuples(st.integers(0, m - 1), st.integers(0, k - 1), st.integers(0, m - 1))
    table = draw(st.dictionaries(triples, st.frozensets(TEXT, max_size=2), max_size=4))
    return PomdpRM(pomdp, Labelling(table), draw(machines()))
