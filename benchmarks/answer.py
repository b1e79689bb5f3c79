"""How often is the answer wrong, and how often does it come? The tables of docs/concepts/answer.md.

    python benchmarks/answer.py --draws 1000

Populations of seeds look like arms of real studies: `narrow` (converged), `ceiling` (most near 1),
`floor` (mostly 0), `all or nothing` (a seed learns the task or does not), `wide`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np

from clew.analysis.answer import of_task
from clew.analysis.stats.effects import effect
from clew.analysis.stats.task import Task, Values

SEEDS = (3, 5, 10, 20)
ARMS = [(agent, bonus) for agent in ("GRU", "Given") for bonus in ("none", "e3b")]
NAMED = ("exploration", "memory", "both")
Draw = Callable[[np.random.Generator, tuple[int, ...]], Values]
SHAPES: dict[str, Draw] = {
    "narrow": lambda rng, size: rng.normal(0.5, 0.03, size),
    "wide": lambda rng, size: rng.normal(0.5, 0.12, size),
    "ceiling": lambda rng, size: rng.beta(9.5, 0.5, size),
    "floor": lambda rng, size: np.maximum(rng.uniform(-0.35, 0.15, size), 0),
    "all or nothing": lambda rng, size: (rng.uniform(size=size) < 0.3).astype(float),
}
TRUTHS = {
    "exploration": (0.2, 0.6, 0.2, 0.6),
    "memory": (0.2, 0.2, 0.6, 0.6),
    "both, together": (0.2, 0.2, 0.2, 0.6),
    "both, each": (0.2, 0.4, 0.4, 0.6),
    "something else": (0.2, 0.2, 0.2, 0.2),
    "nothing": (0.97, 0.97, 0.97, 0.97),
}
"""True means of own, own + bonus, given, given + bonus."""


def seen(draws: np.ndarray) -> tuple[str, str]:
    """What is said of four arms: of the bonus, and of what holds the agent back."""
    (found,) = of_task(Task("a", "b", dict(zip(ARMS, np.clip(draws, 0, 1), strict=True))))
    return found.effect.said, found.held_back_by


def share(counted: Counter[str], *names: str) -> str:
    return f"{100 * sum(counted[name] for name in names) / counted.total():.1f}%"


def without_effect(draws: int) -> None:
    print("| seeds of an arm | n | helps | hurts | does not matter | a bottleneck is named |")
    print("|---|---:|---:|---:|---:|---:|")
    for shape, draw in SHAPES.items():
        for n in SEEDS:
            rng = np.random.default_rng(n)
            found = [seen(draw(rng, (4, n))) for _ in range(draws)]
            bonus, held = (Counter(x) for x in zip(*found, strict=True))
            shares = [share(bonus, name) for name in ("helps", "hurts", "does not matter")]
            shares.append(share(held, *NAMED))
            print(f"| {shape} | {n} |", " | ".join(shares), "|")


def uneven(draws: int) -> None:
    print("\n| seeds of an arm | n | nothing there: helps or hurts | true +.20: helps |")
    print("|---|---|---:|---:|")
    shapes: dict[str, Callable[[np.random.Generator, int, float], Values]] = {
        "wide": lambda rng, n, gap: rng.normal(0.4 + gap, 0.12, n),
        "one in two learns": lambda rng, n, gap: two_kinds(rng, n, 0.5 + gap),
        "one in five learns": lambda rng, n, gap: two_kinds(rng, n, 0.2 + gap),
    }
    for shape, draw in shapes.items():
        for a, b in ((5, 5), (5, 4), (10, 10), (10, 8), (10, 3), (3, 10), (20, 3), (5, 20)):
            rng, rates = np.random.default_rng(a), []
            for gap, wanted in ((0.0, ("helps", "hurts")), (0.2, ("helps",))):
                pairs = [(draw(rng, a, gap), draw(rng, b, 0.0)) for _ in range(draws)]
                rates.append(share(Counter(effect(*pair).said for pair in pairs), *wanted))
            print(f"| {shape} | {a} with, {b} without |", " | ".join(rates), "|")


def two_kinds(rng: np.random.Generator, size: int | tuple[int, ...], learn: float) -> Values:
    """A seed learns the task and scores .95 to 1, or does not and scores 0 to .05."""
    return 0.95 * (rng.uniform(size=size) < learn) + rng.uniform(0, 0.05, size)


def several_agents(draws: int) -> None:
    """Five agents and two bonuses, and nothing there: a claim about any of them is wrong."""
    print("\n| seeds of an arm | n | a bonus helps or hurts any | a bottleneck is named of any |")
    print("|---|---:|---:|---:|")
    agents = ("A", "B", "C", "D", "E", "Given")
    arms = [(agent, bonus) for agent in agents for bonus in ("none", "e3b", "noveld")]
    for shape in ("narrow", "wide", "all or nothing"):
        for n in (5, 10):
            rng, draw = np.random.default_rng(n), SHAPES[shape]
            seeds = (np.clip(draw(rng, (len(arms), n)), 0, 1) for _ in range(draws))
            found = [of_task(Task("a", "b", dict(zip(arms, x, strict=True)))) for x in seeds]
            moved = [any(a.effect.said in ("helps", "hurts") for a in study) for study in found]
            named = [any(a.held_back_by in NAMED for a in study) for study in found]
            rates = [f"{100 * np.mean(each):.1f}%" for each in (moved, named)]
            print(f"| {shape} | {n} |", " | ".join(rates), "|")


def wrong_equivalence(draws: int) -> None:
    print("\n| seeds of an arm | n | 'does not matter' of a true +.05 | of a true +.10 |")
    print("|---|---:|---:|---:|")
    for shape in ("narrow", "wide"):
        for n in SEEDS:
            rng = np.random.default_rng(n)
            rates = []
            for gap in (0.05, 0.1):
                pairs = (SHAPES[shape](rng, (2, n)) for _ in range(draws))
                rates.append(np.mean([effect(b + gap, a).equivalent for a, b in pairs]))
            print(f"| {shape} | {n} |", " | ".join(f"{100 * r:.1f}%" for r in rates), "|")
    print("\n| seeds that learn: without → with | true gain |", *(f"n = {n} |" for n in SEEDS))
    print("|---|---:|" + "---:|" * len(SEEDS))
    for before, after in ((0.9, 1.0), (0.8, 1.0), (0.0, 0.1), (0.0, 0.2)):
        rates = []
        for n in SEEDS:
            rng = np.random.default_rng(n)
            pairs = ((two_kinds(rng, n, after), two_kinds(rng, n, before)) for _ in range(draws))
            rates.append(np.mean([effect(*pair).equivalent for pair in pairs]))
        gain, shares = 0.95 * (after - before), (f"{100 * r:.1f}%" for r in rates)
        print(f"| {before:.0%} → {after:.0%} | +{gain:.3f} |", " | ".join(shares), "|")


def power(draws: int) -> None:
    print("\n| true gain | standard deviation of seeds |", *(f"n = {n} |" for n in SEEDS))
    print("|---:|---:|" + "---:|" * len(SEEDS))
    for gap in (0.1, 0.2, 0.4):
        for std in (0.03, 0.06, 0.12):
            rates = []
            for n in SEEDS:
                rng = np.random.default_rng(n)
                pairs = (rng.normal(0.4, std, (2, n)) for _ in range(draws))
                rates.append(np.mean([effect(b + gap, a).helps for a, b in pairs]))
            print(f"| +{gap:.2f} | {std:.2f} |", " | ".join(f"{100 * r:.0f}%" for r in rates), "|")


def bottlenecks(draws: int) -> None:
    print("\n| truth | standard deviation | n | named rightly | another is named | left open |")
    print("|---|---:|---:|---:|---:|---:|")
    for truth, means in TRUTHS.items():
        for std, n in ((0.05, 5), (0.05, 10), (0.12, 5), (0.12, 10), (0.12, 20)):
            rng = np.random.default_rng(n)
            noise = (rng.normal(0, std, (4, n)) for _ in range(draws))
            held = Counter(seen(np.array(means)[:, None] + x)[1] for x in noise)
            right = truth.split(",")[0]
            other = [name for name in held if name not in (right, "cannot be told")]
            shares = share(held, right), share(held, *other), share(held, "cannot be told")
            print(f"| {truth} | {std} | {n} |", " | ".join(shares), "|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    args = parser.parse_args()
    for table in (without_effect, uneven, several_agents, wrong_equivalence, power, bottlenecks):
        table(args.draws)
