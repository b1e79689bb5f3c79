"""No finite machine encodes this reward, or none is perfect: what a loop makes a machine pool.

A finite machine has a state that pools a whole space W of filters (`certificates.loops`).

- If the next step is not the same all over W, perhaps after some further word, no finite machine is
  perfect. Then the reward is structurally sparse, whether any machine encodes it or not.
- An encoder pays in one state the same on one label, and its potential is linear in the filter
  there (`encodes`). So its equations must hold on W, and after a further word v on the image of
  W, with unknown payments and potentials for each v. Where the words up to some length suffice for
  a contradiction, no finite machine encodes.

The paper's noisy coin is the example of the second.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from math import gcd

from clew.machines.certificates.claims import History, Loop, NeverPerfect, Unencodable
from clew.machines.certificates.filters import Rejected
from clew.machines.certificates.loops import check_loop
from clew.machines.deciding.loops import Pooled, Weights, loops, pushed
from clew.machines.exact.linear import Span, solve
from clew.machines.exact.numbers import summed
from clew.machines.model.belief import Filter, Stepper, coprime

LOOPS = 60
"""Loops that are tried."""
DEPTH = 3
"""Steps of the further words, at most."""
WORDS = 60
"""Further words after which the space is looked at, at most."""

Unknown = tuple[History, int] | tuple[History, int, int]
"""After a word: the potential of a state, or the payment on an action and observation."""


def unencodable(beliefs: Filter) -> Unencodable | NeverPerfect | None:
    """Look for a proof among the loops through the first posteriors; the stronger one first."""
    weaker: NeverPerfect | None = None
    for step, pooled in _loops(beliefs):
        multiples = _contradiction(step, pooled)
        if multiples is not None:
            return Unencodable(pooled.loop, multiples)
        weaker = weaker or _different(step, pooled)
    return weaker


def never_perfect(beliefs: Filter) -> NeverPerfect | None:
    """The weaker proof alone. Where there is one, there are infinitely many posteriors."""
    found = (_different(step, pooled) for step, pooled in _loops(beliefs))
    return next((proof for proof in found if proof is not None), None)


def _loops(beliefs: Filter) -> Iterator[tuple[Stepper, Pooled]]:
    step = Stepper(beliefs.pomdp)
    for pooled in islice(loops(beliefs, step), LOOPS):
        if _goes_on(pooled.loop):
            yield step, pooled


def _goes_on(loop: Loop) -> bool:
    """Whether every finite machine pools the whole space: no posterior comes back for ever."""
    try:
        check_loop(loop)
    except Rejected:
        return False
    return True


def _images(step: Stepper, pooled: Pooled) -> Iterator[tuple[History, tuple[Weights, ...]]]:
    """The basis after further words, short ones first, while they leave two dimensions."""
    queue: list[tuple[History, tuple[Weights, ...]]] = [((), pooled.basis)]
    for then, images in queue:  # it grows while it is walked
        yield then, images
        if len(then) == 2 * DEPTH - 2:
            continue
        for action in range(len(step.pomdp.actions)):
            for o in range(len(step.pomdp.observations)):
                after = tuple(pushed(step, image, action, o) for image in images)
                span = Span()
                if sum(span.add(coprime(image)) for image in after if image) > 1:
                    queue.append(((*then, action, o), after))
                if len(queue) >= WORDS:
                    return


def _different(step: Stepper, pooled: Pooled) -> NeverPerfect | None:
    """A further word and an action with different next steps."""
    for then, images in _images(step, pooled):
        for action in range(len(step.pomdp.actions)):
            laws = [_law(step, image, action) for image in images if image]
            if any(law != laws[0] for law in laws[1:]):
                return NeverPerfect(pooled.loop, then, action)
    return None


def _law(
    step: Stepper, weights: Weights, action: int
) -> dict[tuple[int, bool, Fraction], Fraction]:
    """Pr(o', over, r | weights, action)."""
    total = step.scale * sum(weights.values())
    return summed(
        (step.kinds[kind], Fraction(w * p, total))
        for s, w in weights.items()
        for _, _, kind, p in step.whole[s][action]
    )


def _contradiction(
    step: Stepper, pooled: Pooled
) -> tuple[tuple[int, History, int, Fraction], ...] | None:
    """Multiples of equations that read 0 = 1: y with yA = 0 and y·b = 1."""
    gamma = step.pomdp.discount
    equations: list[tuple[int, History, int, Fraction]] = []
    turned: dict[Unknown, dict[int, int]] = defaultdict(dict)
    right: dict[int, Fraction] = {}
    for then, images in _images(step, pooled):
        for number, image in enumerate(images):
            common = gcd(*image.values())
            # the filter of a certificate sums to one before the further word
            total = sum(pooled.basis[number].values()) * step.scale ** (len(then) // 2)
            scale = step.scale * gamma.denominator * Fraction(total, common or 1)
            for action in range(len(step.pomdp.actions) if image else 0):
                place = len(equations)
                equations.append((number, then, action, scale))
                left: dict[Unknown, int] = defaultdict(int)
                paid = Fraction(0)
                for s, weight in image.items():
                    w = weight // common
                    left[then, s] -= w * step.scale * gamma.denominator
                    for s2, o, kind, p in step.whole[s][action]:
                        left[then, action, o] += w * p * gamma.denominator
                        paid += w * p * step.kinds[kind][2] * gamma.denominator
                        if s2 not in step.over:
                            left[(*then, action, o), s2] += w * p * gamma.numerator
                for unknown, value in left.items():
                    if value:
                        turned[unknown][place] = value
                if paid:
                    right[place] = paid
    answer = solve([*turned.values(), right], [*([0] * len(turned)), 1])
    if answer is None:
        return None
    return tuple((*equations[i][:3], y * equations[i][3]) for i, y in sorted(answer.items()) if y)
