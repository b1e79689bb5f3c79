"""Certificates that rest on pairs of cells which no encoder may pool."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations

from clew.machines.certificates.claims import Bound, Dense, Distinctions
from clew.machines.certificates.filters import WholeSteps, demand, first_filters, key_of

Pair = tuple[int, int]


def check_dense(proof: Dense) -> None:
    """No encoder pools any two cells that can be told apart."""
    evidence = proof.distinctions
    futures, apart = _unpoolable(evidence)
    demand(all(each.closed for each in futures), "the cells are not closed")
    by_observation: dict[int, list[int]] = defaultdict(list)
    for i, cell in enumerate(evidence.cells):
        by_observation[cell.observation].append(i)
    for some in by_observation.values():
        for i, j in combinations(some, 2):
            if futures[i].joint != futures[j].joint:
                pair = _pair(evidence.class_of[i], evidence.class_of[j])
                demand(pair in apart, "a distinguishable pair is not forced apart")


def check_bound(proof: Bound) -> None:
    """Every two of the cells are forced apart, though they look the same."""
    evidence = proof.distinctions
    if len(proof.cells) < 2:
        return  # that an encoder has a state needs no evidence
    _, apart = _unpoolable(evidence)
    for i, j in combinations(proof.cells, 2):
        same = evidence.cells[i].observation == evidence.cells[j].observation
        demand(same, "the cells do not share an observation")
        pair = _pair(evidence.class_of[i], evidence.class_of[j])
        demand(pair in apart, "two of the cells are not forced apart")


class _Future:
    """What every action does from a cell, worked out from its posterior."""

    def __init__(self, steps: WholeSteps, place: dict[tuple, int], posterior: dict[int, int]):
        self.joint, self.mean, self.law, self.after = [], [], [], []
        for a in range(len(steps.ways[0])):
            filters, joint = steps.next_filters(posterior, a), steps.joint_law(posterior, a)
            law: dict[tuple[int, bool], Fraction] = defaultdict(Fraction)
            for (o, over, _), p in joint.items():
                law[o, over] += p
            self.joint.append(joint)
            self.law.append(law)
            self.mean.append(sum((r * p for (_, _, r), p in joint.items() if r), Fraction(0)))
            keys = {o: key_of(o, w) for o, w in filters.items()}
            self.after.append({o: place[key] for o, key in keys.items() if key in place})
        self.closed = all(
            {o for o, over in law if not over} == after.keys()
            for law, after in zip(self.law, self.after, strict=True)
        )


def _unpoolable(evidence: Distinctions) -> tuple[list[_Future], set[Pair]]:
    """Check the evidence; returns what follows each cell, and the pairs that are forced apart."""
    pomdp = evidence.pomdp
    posteriors = [dict(cell.posterior) for cell in evidence.cells]
    place = {
        key_of(cell.observation, posterior): i
        for i, (cell, posterior) in enumerate(zip(evidence.cells, posteriors, strict=True))
    }
    for o, weights in first_filters(pomdp).items():
        demand(key_of(o, weights) in place, "a first observation is missing")
    steps = WholeSteps(pomdp)
    futures = [_Future(steps, place, posterior) for posterior in posteriors]
    lead = _check_classes(evidence, futures)
    demand(evidence.chosen.keys() == evidence.forced.keys(), "a forced gap has no equation")
    for pair, action in evidence.chosen.items():
        asked = _asked(evidence, futures, lead, pair, action)
        demand(asked == evidence.forced[pair], "a gap is wrong")
    for pair, action in evidence.conflicts.items():
        asked = _asked(evidence, futures, lead, pair, action)
        demand(asked != evidence.forced[pair], "a conflict is none")
    return futures, _check_routes(evidence, futures, lead)


def _pair(c: int, d: int) -> Pair:
    return (c, d) if c < d else (d, c)


def _check_classes(proof: Distinctions, futures: list[_Future]) -> dict[int, int]:
    """Cells of one class have the same future, class for class; returns a member of each."""
    lead: dict[int, int] = {}
    for i, c in enumerate(proof.class_of):
        j = lead.setdefault(c, i)
        one, two = futures[i], futures[j]
        same = i == j or (one.closed and two.closed)
        same = same and one.law == two.law and one.mean == two.mean
        same = same and proof.cells[i].observation == proof.cells[j].observation
        for mine, theirs in zip(one.after, two.after, strict=True):
            same = same and all(
                proof.class_of[mine[o]] == proof.class_of[theirs[o]] for o in mine.keys() & theirs
            )
        demand(same, "cells of one class have different futures")
    return lead


def _asked(
    proof: Distinctions, futures: list[_Future], lead: dict[int, int], pair: Pair, action: int
) -> Fraction:
    """The gap that a binding action asks for; all its successors must be forced or equal."""
    one, two = (futures[lead[c]] for c in pair)
    demand(one.closed and two.closed, "an equation leads to cells that are not listed")
    demand(one.law[action] == two.law[action], "an action that is called binding is not")
    gap = two.mean[action] - one.mean[action]
    for (o, over), chance in one.law[action].items():
        if over:
            continue  # nothing is owed once an episode is over
        c, d = (proof.class_of[each.after[action][o]] for each in (one, two))
        if c != d:
            demand((min(c, d), max(c, d)) in proof.forced, "a gap rests on one that is not forced")
            sign = 1 if c < d else -1
            value = proof.forced[min(c, d), max(c, d)]
            gap += proof.pomdp.discount * chance * sign * value
    return gap


def _check_routes(proof: Distinctions, futures: list[_Future], lead: dict[int, int]) -> set[Pair]:
    """The pairs whose route ends in a conflict."""
    apart = set(proof.conflicts)
    for pair in proof.route:
        steps = []
        while pair not in apart:
            demand(pair not in steps, "a route leads back to itself")
            steps.append(pair)
            step = proof.route.get(pair)
            demand(step is not None, "a route ends without a conflict")
            action, o = step  # type: ignore[misc]
            after = [futures[lead[c]].after[action] for c in pair]
            demand(all(o in each for each in after), "a route takes a step that is not common")
            c, d = sorted(proof.class_of[each[o]] for each in after)
            pair = (c, d)
        apart.update(steps)
    return apart
