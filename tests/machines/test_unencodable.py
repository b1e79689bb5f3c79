"""Rewards that no finite machine encodes, and POMDPs for which no finite machine is perfect."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

from clew.machines import Begin, Branch, Labelling, Pomdp, PomdpRM, RewardMachine, gallery
from clew.machines.certificates.claims import Loop, NeverPerfect, Refuted, Sparse, Unencodable
from clew.machines.certificates.loops import check_loop
from clew.machines.certificates.verify import Rejected, verify
from clew.machines.deciding.bisimulation import classes
from clew.machines.deciding.density import density, one_state
from clew.machines.deciding.pairs import decide_pairs
from clew.machines.deciding.structure import admits
from clew.machines.deciding.unencodable import unencodable
from clew.machines.model.belief import close
from clew.machines.model.reward_machine import Edge
from tests.machines.playing import machines_on
from tests.machines.tiny import tiny_pomdps

Proof = Unencodable | NeverPerfect | None


def proof(name: str, **options: object) -> Proof:
    return unencodable(close(gallery.make(name, **options), 50))


@pytest.mark.parametrize("name", ["Tiger", "Coin"])
def test_no_machine_encodes_these(name: str) -> None:
    found = proof(name)
    assert isinstance(found, Unencodable)
    verify(found)


@given(st.integers(1, 5), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_and_indeed_no_random_structure_admits_rewards_that_do(states: int, seed: int) -> None:
    pomdp = gallery.make("Tiger")
    labelling = Labelling.injective(pomdp)
    labels = {labelling(o, a, o2) for o in range(3) for a in range(3) for o2 in range(3)}
    edges = tuple(
        {label: Edge((seed >> i) * (u + 3) % states, Fraction(0)) for i, label in enumerate(labels)}
        for u in range(states)
    )
    machine = RewardMachine(tuple(f"u{u}" for u in range(states)), edges)
    assert isinstance(admits(PomdpRM(pomdp, labelling, machine)), Refuted)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Tiger", {"hearing": "1/2"}),  # nothing is heard
        ("Tiger", {"hearing": "1"}),  # one look is enough
        ("Coin", {"horizon": 4}),
        ("Cue", {}),
        ("MysteryCell", {}),
    ],
)
def test_finite_ones_are_not_called_so(name: str, options: dict) -> None:
    assert proof(name, **options) is None


def test_one_state_may_encode_where_no_machine_is_perfect() -> None:
    found = proof("Shuttle")
    assert isinstance(found, NeverPerfect)
    verify(found)


SHARES = st.sampled_from([Fraction(n, 3) for n in range(4)])


@st.composite
def noisy_pomdps(draw: st.DrawFn, max_states: int = 3) -> Pomdp:
    """Hidden states and two noisy signs. Actions stay, move, or begin anew or end; all may pay."""
    n = draw(st.integers(2, max_states))
    ends = draw(st.booleans())
    signs = [draw(SHARES) for _ in range(n)]
    kinds = draw(
        st.lists(st.sampled_from(["stay", "move", "over", "over"]), min_size=1, max_size=3)
    )

    def row(s: int, kind: str) -> tuple[Branch, ...]:
        reward = Fraction(draw(st.integers(0, 2)))
        if kind == "over" and ends:
            return (Branch(n, 0, Fraction(1), reward),)
        to = {s: Fraction(1)}
        if kind == "over":
            to = dict.fromkeys(range(n), Fraction(1, n))
        elif kind == "move":
            other, share = draw(st.integers(0, n - 1)), draw(SHARES)
            to = {other: share, s: 1 - share} if other != s else to
        return tuple(
            Branch(s2, o, p * q, reward)
            for s2, p in to.items()
            for o, q in enumerate((signs[s2], 1 - signs[s2]))
            if p * q
        )

    return Pomdp(
        states=(*(f"s{s}" for s in range(n)), *(["over"] if ends else [])),
        actions=tuple(f"{kind} {a}" for a, kind in enumerate(kinds)),
        observations=("plus", "minus"),
        start=tuple(Begin(s, 0, Fraction(1, n)) for s in range(n)),
        steps=(
            *(tuple(row(s, kind) for kind in kinds) for s in range(n)),
            *([((Branch(n, 0, Fraction(1), Fraction(0)),),) * len(kinds)] if ends else []),
        ),
        discount=Fraction(9, 10),
        terminal=frozenset([n] if ends else ()),
    )


def paid_by(product: PomdpRM) -> Pomdp:
    """The same dynamics with the machine's payments as rewards: the machine encodes them."""
    pomdp = product.pomdp
    order = [(b.state, b.observation, 0) for b in pomdp.start]
    place = {node: i for i, node in enumerate(order)}
    steps = []
    for s, o, u in order:  # it grows while it is walked
        rows = []
        for a, row in enumerate(pomdp.steps[s]):
            ways = []
            for b in row:
                u2, paid = product.step(u, o, a, b.observation)
                node = (
                    (b.state, 0, 0) if b.state in pomdp.terminal else (b.state, b.observation, u2)
                )
                if node not in place:
                    place[node] = len(order)
                    order.append(node)
                reward = Fraction(0) if s in pomdp.terminal else paid
                ways.append(Branch(place[node], b.observation, b.probability, reward))
            rows.append(tuple(ways))
        steps.append(tuple(rows))
    return replace(
        pomdp,
        states=tuple(f"{s} {o} {u}" for s, o, u in order),
        start=tuple(
            Begin(place[b.state, b.observation, 0], b.observation, b.probability)
            for b in pomdp.start
        ),
        steps=tuple(steps),
        terminal=frozenset(i for i, (s, _, _) in enumerate(order) if s in pomdp.terminal),
    )


def run(examples: int, number: int) -> Counter[str]:
    """What is said of random POMDPs, each answer held against what cannot be so."""
    seen: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        database=None,
        deadline=None,
    )
    @given(noisy_pomdps(), st.data())
    def each(pomdp: Pomdp, data: st.DataObject) -> None:
        beliefs = close(pomdp, 40)
        found = unencodable(beliefs)
        seen[type(found).__name__] += 1
        if found is None:
            return
        verify(found)
        # a finite machine that is perfect would have as many states as there are classes
        longer = [len(classes(close(pomdp, limit)).members) for limit in (40, 80)]
        assert longer[1] > longer[0]
        if isinstance(found, Unencodable):
            assert one_state(pomdp) is None
            for states in (1, 2, 3):
                structure = data.draw(machines_on(pomdp, states))
                assert isinstance(admits(structure), Refuted)

    each()
    return seen


def test_no_small_machine_contradicts_what_is_said() -> None:
    seen = run(examples=120, number=1)
    assert seen["Unencodable"] >= 5
    assert seen["NeverPerfect"] >= 20


@pytest.mark.slow
def test_no_small_machine_contradicts_what_is_said_of_many() -> None:
    seen = run(examples=1000, number=2)
    assert seen["Unencodable"] >= 40
    assert seen["NeverPerfect"] >= 300


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_what_a_machine_pays_is_never_called_unencodable(data: st.DataObject) -> None:
    pomdp = paid_by(data.draw(machines_on(data.draw(noisy_pomdps(2)))))
    assert not isinstance(unencodable(close(pomdp, 40)), Unencodable)


@given(tiny_pomdps())
@settings(max_examples=100, deadline=None)
def test_nothing_is_said_of_a_finite_filter(pomdp: Pomdp) -> None:
    """The filter itself is a perfect encoder then."""
    beliefs = close(pomdp, 40)
    assume(beliefs.finite)
    assert unencodable(beliefs) is None


def cue_in_noise() -> Pomdp:
    """A cue at the start, noise about a coin for ever, and guesses of the cue that pay."""
    states = [f"{cue}{coin}" for cue in "ab" for coin in "ht"]
    return Pomdp.build(
        states=[*(f"new {s}" for s in states), *states, "over"],
        actions=["look", "guess a", "guess b"],
        observations=["a", "b", "heads", "tails", "end"],
        p=lambda s, a: "over" if s == "over" or a != "look" else s.removeprefix("new "),
        omega=lambda s: (
            "end" if s == "over"
            else s[4] if s.startswith("new")
            else {"heads": Fraction(2, 3) if s[1] == "h" else Fraction(1, 3),
                  "tails": Fraction(1, 3) if s[1] == "h" else Fraction(2, 3)}
        ),
        r=lambda s, a, after: int(s != "over" and a[-1] == s.removeprefix("new ")[0]),
        gamma="9/10",
        mu={f"new {s}": Fraction(1, 4) for s in states},
        terminal=["over"],
    )  # fmt: skip


def test_a_small_machine_is_found_where_posteriors_are_not_finite() -> None:
    pomdp = cue_in_noise()
    assert one_state(pomdp) is None
    beliefs = close(pomdp, 60)
    assert not beliefs.finite
    verdict = density(decide_pairs(beliefs))
    assert isinstance(verdict, Sparse)
    assert len(verdict.product.machine.states) <= 3
    verify(verdict)


def test_a_certificate_that_was_tampered_with_is_rejected() -> None:
    found = proof("Tiger")
    assert isinstance(found, Unencodable)
    loop, (first, *rest) = found.loop, found.multiples
    number, then, action, y = first
    quiet = gallery.make("Tiger", hearing="1/2")
    for changed, why in (
        (replace(found, multiples=((number, then, action, y + 1), *rest)), "cancel|contradict"),
        (replace(found, multiples=tuple(rest)), "cancel|contradict"),
        (replace(found, multiples=((9, then, action, y), *rest)), "there is not"),
        (
            replace(found, multiples=tuple((*m[:3], 2 * m[3]) for m in found.multiples)),
            "contradict",
        ),
        (replace(found, loop=replace(loop, pomdp=quiet)), "one posterior"),
        (replace(found, loop=replace(loop, word=())), "lead back"),
        (replace(found, loop=replace(loop, word=(0, 1 - loop.word[-1]))), "lead back"),
        (replace(found, loop=replace(loop, word=(1, *loop.word[1:]))), "posterior|dimension"),
        (replace(found, loop=replace(loop, history=(loop.history[-1],))), "cannot happen"),
    ):
        with pytest.raises(Rejected, match=why):
            verify(changed)
    verify(NeverPerfect(loop, (), 0))
    with pytest.raises(Rejected, match="same"):  # behind an open door, all begins anew
        verify(NeverPerfect(loop, (1, loop.word[-1]), 0))


def test_a_loop_that_turns_around_is_rejected() -> None:
    """Two states that change places: every second repetition is the same."""
    turning = Pomdp.build(
        states=["a", "b"],
        actions=["turn"],
        observations=["o"],
        p=lambda s, a: "b" if s == "a" else "a",
        omega=lambda s: "o",
        r=lambda s, a, after: int(s == "a"),
        gamma="1/2",
        mu={"a": "2/3", "b": "1/3"},
    )
    with pytest.raises(Rejected, match="every 2th repetition"):
        check_loop(Loop(turning, (0,), (0, 0), 0))
    assert unencodable(close(turning, 50)) is None
