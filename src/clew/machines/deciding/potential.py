"""What a machine's one-step rewards alone would do, and whether a potential helps them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.certificates.claims import Site, Triple
from clew.machines.deciding.encodes import start_returns, tails, uniform
from clew.machines.deciding.optimal import Choice, Optimum, policy_iteration
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.spaces import Spaces, spaces
from clew.machines.exact.linear import fixed_point
from clew.machines.exact.numbers import summed
from clew.machines.model.reward_machine import PomdpRM

CAUTION = (
    "the state of a machine that is not perfect can hide that actions are misranked: that no "
    "potential helps it proves nothing"
)
NextLaw = dict[tuple[int, bool], Fraction]
"""(o', whether the episode is over) → probability."""
Kernel = Mapping[tuple[Site, int], NextLaw]
"""By site and action."""


@dataclass(frozen=True)
class Greedy:
    """The actions that one-step rewards (plus a potential φ, if any) rank first; their return."""

    product: PomdpRM
    actions: Mapping[Site, tuple[int, ...]]
    value: Fraction
    """J: the POMDP's expected return, ties broken uniformly."""


@dataclass(frozen=True)
class PotentialSparsity:
    """Whether adding γφ' − φ to one-step rewards helps the greedy policy, for some φ.

    `certain` only where the machine is perfect: for others, "dense" proves nothing (`CAUTION`).
    """

    sparse: bool
    certain: bool
    greedy: Greedy
    shaped: Greedy
    phi: Mapping[Site, Fraction]

    @property
    def gap(self) -> Fraction:
        """How much φ adds to the return."""
        return self.shaped.value - self.greedy.value


def potential_sparsity(product: PomdpRM, known: Spaces | None = None) -> PotentialSparsity:
    """Compare the greedy policy with the one shaped by φ = V*, the best φ of a perfect machine.

    The machine must encode; for a machine that is not perfect, V* is that of the reference
    kernel, and only the verdict "sparse" means something.
    """
    known = known or spaces(product)
    certain, kernel = _kernel(product, known)
    sites, best = _pair_optimum(product, kernel)
    phi = dict(zip(sites, best.values, strict=True))
    plain = _greedy(product, known, _one_step(product, kernel, None))
    shaped = _greedy(product, known, _one_step(product, kernel, phi))
    return PotentialSparsity(plain.value < shaped.value, certain, plain, shaped, phi)


def greedy(product: PomdpRM, known: Spaces | None = None) -> Greedy:
    """The greedy policy of the machine's one-step rewards."""
    known = known or spaces(product)
    return _greedy(product, known, _one_step(product, _kernel(product, known)[1], None))


def _kernel(product: PomdpRM, known: Spaces) -> tuple[bool, Kernel]:
    if perfect(product, known):
        return True, canonical_kernel(product, known)
    return False, reference_kernel(product, known)


def canonical_kernel(product: PomdpRM, known: Spaces) -> Kernel:
    """Pr(o' | o, u, a) of a perfect machine: any history of the site will do."""
    return {
        (site, a): _law(product, vectors[0].weights, a)
        for site, vectors in known.at().items()
        for a in range(len(product.pomdp.actions))
    }


def reference_kernel(product: PomdpRM, known: Spaces) -> Kernel:
    """Pr_π₀(o' | o, u, a): averaged by the discounted occupancy under the uniform policy π₀."""
    occupied: dict[Site, dict[int, Fraction]] = defaultdict(dict)
    for (s, o, u), weight in occupancy(product, known.triples).items():
        occupied[o, u][s] = weight
    return {
        (site, a): _law(product, weights, a)
        for site, weights in occupied.items()
        for a in range(len(product.pomdp.actions))
    }


def occupancy(product: PomdpRM, triples: tuple[Triple, ...]) -> dict[Triple, Fraction]:
    """d(s, o, u) = Σ_t γ^t Pr(s_t, o_t, x_t) when every action is as likely."""
    place = {triple: number for number, triple in enumerate(triples)}
    start = [Fraction(0)] * len(triples)
    for b in product.pomdp.start:
        start[place[b.state, b.observation, product.machine.initial]] += b.probability
    inflow: list[dict[int, Fraction]] = [defaultdict(Fraction) for _ in triples]
    each = product.pomdp.discount / len(product.pomdp.actions)
    for (s, o, u), number in place.items():
        for a, row in enumerate(product.pomdp.steps[s]):
            for b in row:
                if b.state in product.pomdp.over:
                    continue
                u2 = product.step(u, o, a, b.observation).state
                inflow[place[b.state, b.observation, u2]][number] += each * b.probability
    return dict(zip(triples, fixed_point(start, inflow), strict=True))


def _law(product: PomdpRM, weights: Mapping[int, Fraction | int], a: int) -> NextLaw:
    total, over = sum(weights.values()), product.pomdp.over
    return summed(
        ((b.observation, b.state in over), Fraction(weight) / total * b.probability)
        for s, weight in weights.items()
        for b in product.pomdp.steps[s][a]
    )


def _pair_optimum(product: PomdpRM, kernel: Kernel) -> tuple[list[Site], Optimum]:
    """The optimum of the MDP over (observation, machine state) that a kernel describes."""
    sites = list(dict.fromkeys(site for site, _ in kernel))
    place = {site: number for number, site in enumerate(sites)}
    choices = []
    for o, u in sites:
        row = []
        for a in range(len(product.pomdp.actions)):
            law = kernel[(o, u), a]
            edges = {o2: product.step(u, o, a, o2) for o2, _ in law}
            paid = sum((p * edges[o2].reward for (o2, _), p in law.items()), Fraction(0))
            on = ((o2, p) for (o2, over), p in law.items() if not over)
            row.append(Choice(paid, tuple((place[o2, edges[o2].state], p) for o2, p in on)))
        choices.append(row)
    return sites, policy_iteration(choices, product.pomdp.discount)


def _one_step(
    product: PomdpRM, kernel: Kernel, phi: Mapping[Site, Fraction] | None
) -> dict[Site, tuple[int, ...]]:
    """argmax_a of the one-step reward, with γφ(u', o') − φ(u, o) added to it if φ is given."""
    gamma = product.pomdp.discount
    worth: dict[Site, dict[int, Fraction]] = defaultdict(dict)
    for ((o, u), a), law in kernel.items():
        total = Fraction(0)
        for (o2, over), p in law.items():
            edge = product.step(u, o, a, o2)
            after = phi[o2, edge.state] if phi and not over else 0
            total += p * (edge.reward + gamma * after - (phi[o, u] if phi else 0))
        worth[o, u][a] = total
    return {
        site: tuple(a for a, q in row.items() if q == max(row.values()))
        for site, row in worth.items()
    }


def _greedy(product: PomdpRM, known: Spaces, actions: dict[Site, tuple[int, ...]]) -> Greedy:
    mixed = {site: uniform(some) for site, some in actions.items()}
    tail = tails(product, known.triples, lambda o, u: mixed[o, u])
    return Greedy(product, actions, start_returns(product, tail).pomdp)
