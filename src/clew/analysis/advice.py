"""An answer in words: what to do, then why."""

from __future__ import annotations

from collections.abc import Callable

from clew.analysis.answer import Answer, HeldBackBy
from clew.analysis.formatting import change, rate, seeds
from clew.analysis.names import bonus_label
from clew.analysis.stats.effects import MOST, SEEDS, Effect


def advice(answer: Answer) -> str:
    """What to do, in one sentence: 'Use E3B: +.18 [+.10, +.25].'"""
    bonus, found = bonus_label(answer.bonus), answer.effect
    if min(answer.seeds) < SEEDS:
        return f"Train at least {SEEDS} seeds with {bonus} and without: {change(found.interval)}."
    said = {
        "helps": f"Use {bonus}: {change(found.interval)}.",
        "hurts": f"Do not use {bonus}: {change(found.interval)}.",
        "does not matter": f"{bonus} does not matter: {change(found.interval)}, "
        f"within ±{rate(answer.margin)}.",
        "cannot be told": f"Whether {bonus} helps cannot be told with {seeds(answer.seeds)}: "
        f"{change(found.interval)}{_more(found)}.",
    }
    return said[found.said]


def reason(answer: Answer) -> str:
    """What holds the agent back, in a sentence or two."""
    parts = [_REASONS[answer.held_back_by](answer), *_hints(answer)]
    if answer.rising and answer.held_back_by not in ("nothing", "memory", "exploration", "both"):
        parts.append("Its success was still rising at the end: train longer first.")
    return " ".join(part for part in parts if part)


def in_brief(answer: Answer) -> str:
    """What to do, in a few words for a table or a picture."""
    bonus = bonus_label(answer.bonus)
    return {
        "helps": f"use {bonus}",
        "hurts": f"avoid {bonus}",
        "does not matter": f"{bonus}: no matter",
        "cannot be told": f"{bonus}: too few seeds",
    }[answer.effect.said]


def needs(answer: Answer) -> str:
    """What would mend what holds it back, in a few words."""
    if answer.held_back_by == "exploration" and not answer.intervened:
        return "needs exploration at least"
    return {
        "nothing": "needs neither",
        "exploration": "needs exploration",
        "memory": "needs memory",
        "both": "needs both",
        "something else": "needs something else",
        "cannot be told": "need not clear",
    }[answer.held_back_by]


def _nothing(answer: Answer) -> str:
    best = rate(max(interval.estimate for interval in answer.success.values()))
    return f"Nothing holds it back: {_own(answer)} without the bonus, {best} at best."


def _exploration(answer: Answer) -> str:
    bonus, memory = bonus_label(answer.bonus), answer.memory
    if memory is None:
        return (
            "Exploration held it back, at least in part; whether memory does too, a Given arm "
            "would tell."
        )
    if memory.excluded:
        said = "Exploration held it back, not memory: given memory alone changes success by "
        said += f"{change(memory.interval)}."
    else:
        over = answer.bonus_over_memory
        assert over is not None
        said = f"Exploration held it back more than memory: {bonus} does more than given memory by "
        said += f"{change(over.interval)}."
    more = answer.memory_on_bonus
    if more is not None and more.helps:
        said += f" With {bonus}, memory is what holds it back next: {change(more.interval)}."
    return said


def _memory(answer: Answer) -> str:
    bonus, memory = bonus_label(answer.bonus), answer.memory
    assert memory is not None
    reached = rate(answer.success["given"].estimate)
    return (
        f"Memory is the bottleneck: given memory alone takes it from {_own(answer)} to {reached} "
        f"({change(memory.interval)}); {bonus} does not replace that."
    )


def _both(answer: Answer) -> str:
    bonus, memory, both = bonus_label(answer.bonus), answer.memory, answer.both
    assert memory is not None
    together = f", both together {change(both.interval)}" if both is not None else ""
    figures = f"given memory alone {change(memory.interval)}, {bonus} alone "
    figures += f"{change(answer.effect.interval)}{together}."
    if memory.helps:
        return f"Memory and exploration each hold it back: {figures}"
    return f"Memory and exploration hold it back together, neither alone: {figures}"


def _something_else(answer: Answer) -> str:
    bonus, best = bonus_label(answer.bonus), answer.success.get("given + bonus")
    reached = f": {rate(best.estimate)}" if best is not None else ""
    return (
        f"Neither memory nor exploration holds it back: given memory and {bonus} together change "
        f"nothing{reached}. Look at optimisation, capacity and budget."
    )


def _cannot_be_told(answer: Answer) -> str:
    bonus = bonus_label(answer.bonus)
    open_ = f"cannot be told with {seeds(answer.seeds)}"
    if answer.effect.helps:
        said = f"Exploration held it back, at least in part; whether memory does too {open_}"
    elif answer.memory is not None and answer.memory.helps:
        said = f"Memory holds it back, at least in part; whether exploration does too {open_}"
    elif answer.both is not None and answer.both.helps:
        said = f"Given memory and {bonus} together help ({change(answer.both.interval)}); which of "
        said += f"the two is needed {open_}"
    elif not answer.intervened:
        return "What holds it back, a Given arm would tell."
    else:
        said = f"What holds it back {open_}"
    needed = answer.needed
    return f"{said}; about {needed} seeds an arm would." if needed else f"{said}."


_REASONS: dict[HeldBackBy, Callable[[Answer], str]] = {
    "nothing": _nothing,
    "exploration": _exploration,
    "memory": _memory,
    "both": _both,
    "something else": _something_else,
    "cannot be told": _cannot_be_told,
}


def _hints(answer: Answer) -> list[str]:
    """What can be seen without an intervention: weaker, and said only where there was none."""
    if answer.intervened or answer.held_back_by == "nothing":
        return []
    hints = []
    over = answer.over_memoryless
    if over is not None and over.excluded:
        hints.append("It does no better than the agent without a memory: its own is of no use yet.")
    elif over is not None and over.helps:
        hints.append(f"It uses its memory: {change(over.interval)} over the agent without one.")
    if max(interval.estimate for interval in answer.success.values()) <= answer.margin:
        hints.append("With the bonus and without it hardly ever succeeds.")
    return hints


def _own(answer: Answer) -> str:
    return rate(answer.success["own"].estimate)


def _more(found: Effect) -> str:
    if found.needed is None:
        return f"; not even {MOST:,} seeds an arm would tell" if found.interval.known else ""
    return f"; about {found.needed} seeds an arm would tell"
