"""An answer in words: what to do, then why."""

from __future__ import annotations

from collections.abc import Callable

from clew.analysis.answer import Answer, HeldBackBy
from clew.analysis.formatting import change, listed, rate, seeds
from clew.analysis.names import bonus_label
from clew.analysis.stats.effects import MOST, SEEDS, Effect
from clew.analysis.stats.intervals import Interval

DECODABLE = 0.05
"""A gain in AUC below this is none."""
UNTESTED = "Whether memory holds it back was not tested."


def advice(answer: Answer) -> str:
    """What to do, in one sentence: 'Use E3B: +.18 [+.10, +.25].'"""
    what, figures = _what_to_do(answer)
    begun = what if what.startswith(bonus_label(answer.bonus)) else what[:1].upper() + what[1:]
    return f"{begun}{', ' if answer.silent else ': '}{figures}."


def line(answer: Answer) -> str:
    """The whole answer for one agent: 'GRU: use E3B, +.18 [+.10, +.25]. Memory was not …'"""
    what, figures = _what_to_do(answer)
    said = [f"{answer.agent}: {what}, {figures}.", *pace(answer), bottleneck(answer)]
    return " ".join([*said, *next_step(answer), *unfinished(answer), *failures(answer)])


def action(answer: Answer) -> str:
    """Its first sentence alone."""
    what, figures = _what_to_do(answer)
    return " ".join([f"{answer.agent}: {what}, {figures}.", *pace(answer), *failures(answer)])


def failures(answer: Answer) -> list[str]:
    """What would be said if the runs that failed counted as success 0, where that is another."""
    again = answer.with_failures
    if again is None:
        return []
    what, figures = _what_to_do(again)
    runs = _failures(answer)
    return [f"But with the {runs} counted as success 0: {what}, {figures}. {bottleneck(again)}"]


def bottleneck(answer: Answer) -> str:
    """What holds the agent back, in one short sentence without figures."""
    held = answer.held_back_by
    if answer.memory is not None and answer.memory.said == "hurts" and held != "nothing":
        why = "cannot be told: given memory does worse."
        if held == "exploration":
            return f"Exploration held it back, at least in part; whether memory does too {why}"
        return f"Whether memory holds it back {why}"
    if held == "exploration" and answer.memory is not None:
        if answer.memory.excluded:
            return "Memory was not the bottleneck."
        return "Exploration held it back more than memory."
    if held in ("exploration", "cannot be told") and not answer.intervened:
        return UNTESTED
    if held == "cannot be told" and answer.effect.helps and not answer.untrained:
        return "Whether memory holds it back too cannot be told."
    if held == "cannot be told" and answer.memory is not None and answer.memory.helps:
        return "Memory holds it back; whether exploration does too cannot be told."
    if held == "both":
        alone = answer.memory is not None and answer.memory.helps
        return "Memory and exploration hold it back" + ("." if alone else " together.")
    return {
        "memory": "Memory is the bottleneck.",
        "nothing": f"Nothing holds it back: {_own(answer)} without it.",
        "something else": "Neither memory nor exploration is the bottleneck.",
        "cannot be told": "What holds it back cannot be told.",
    }[held]


def reason(answer: Answer) -> str:
    """What holds the agent back, in a sentence or two."""
    return " ".join([finding(answer), *hints(answer), *failures(answer)])


def finding(answer: Answer) -> str:
    """The part of the reason that rests on tests that were corrected together."""
    return _FINDINGS[answer.held_back_by](answer)


def hints(answer: Answer) -> list[str]:
    """The rest: exploratory, as it was not corrected for or rests on no intervention."""
    found = [*pace(answer), *next_step(answer)]
    if not answer.intervened and answer.held_back_by != "nothing":
        found += _without_intervention(answer)
    return [*found, *unfinished(answer)]


def pace(answer: Answer) -> list[str]:
    """That the bonus speeds learning up or slows it down, where success at the end does not say."""
    found, said = answer.over_training, answer.effect.said
    if found is None or said == ("helps" if found.estimate > 0 else "hurts"):
        return []
    word = "sooner" if found.estimate > 0 else "later"
    return [
        f"With {bonus_label(answer.bonus)} it learns {word}: mean success over all of training "
        f"{change(found)}."
    ]


def next_step(answer: Answer) -> list[str]:
    """What would hold it back once its bottleneck was gone."""
    more, bonus = answer.memory_on_bonus, bonus_label(answer.bonus)
    if answer.held_back_by == "exploration" and more is not None and more.helps:
        return [f"With {bonus}, memory is what holds it back next: {change(more.interval)}."]
    extra = answer.bonus_on_memory
    if answer.held_back_by == "memory" and extra is not None and extra.helps:
        return [f"Once memory is given, {bonus} helps: {change(extra.interval)}."]
    return []


def unfinished(answer: Answer) -> list[str]:
    """That it was still learning when training ended, where that may change the answer."""
    settled = answer.held_back_by in ("nothing", "memory", "exploration", "both")
    if not answer.rising or settled:
        return []
    return ["Its success was still rising at the end: train longer first."]


def choice(answer: Answer) -> str:
    """Which of several bonuses that help; empty unless this is the one that helps most."""
    if not answer.over_others:
        return ""
    best = bonus_label(answer.bonus)
    less = {bonus_label(b): e for b, e in answer.over_others.items() if e.helps}
    open_ = [bonus_label(b) for b, e in answer.over_others.items() if not e.helps]
    said = []
    if less:
        more = listed(f"{change(e.interval)} over {b}" for b, e in less.items())
        said.append(f"{best} does more: {more}")
    if open_:
        said.append(f"whether {best} or {listed(open_, 'or')} does more cannot be told")
    return f"{answer.agent}: " + "; ".join(said) + "."


def in_brief(answer: Answer) -> str:
    """What to do, in a few words for a table or a picture."""
    bonus = bonus_label(answer.bonus)
    if answer.effect.little and not answer.silent:
        return _little(answer.effect, bonus)
    return {
        "helps": f"use {bonus}",
        "hurts": f"avoid {bonus}",
        "does not matter": f"{bonus}: no matter",
        "cannot be told": "no success" if answer.silent else f"{bonus}: effect unclear",
    }[answer.effect.said]


def shown(answer: Answer) -> HeldBackBy:
    """What holds it back, or the half of it that is shown where the other is open."""
    if answer.held_back_by == "cannot be told":
        if answer.effect.helps and not answer.untrained:
            return "exploration"
        if answer.intervened and answer.memory is not None and answer.memory.helps:
            return "memory"
    return answer.held_back_by


def label(answer: Answer) -> str:
    """What holds it back, in a word or two."""
    found = shown(answer)
    half = found != answer.held_back_by or (found == "exploration" and not answer.intervened)
    return f"{found}, at least in part" if half else found


def needs(answer: Answer) -> str:
    """The same as what it needs, for a picture."""
    unlike = {"nothing": "needs neither", "cannot be told": "bottleneck unclear"}
    return unlike.get(shown(answer), f"needs {label(answer)}")


def _what_to_do(answer: Answer) -> tuple[str, str]:
    """In words, and the figures that belong to it."""
    bonus, found = bonus_label(answer.bonus), answer.effect
    if answer.silent:
        why = f"since {_no_run(answer)} succeeds, with {bonus} or not"
        return "make the task easier or train longer", why
    figures = change(found.interval)
    if answer.lost:
        figures += f", with the {_failures(answer)} counted as success 0"
    if min(answer.seeds) < SEEDS:
        return f"train at least {SEEDS} seeds with {bonus} and without", figures
    if found.little:
        figures += f"; whether by more than ±{rate(answer.margin)} is open"
        return _little(found, bonus), figures
    open_ = f"whether {bonus} helps cannot be told with {seeds(answer.seeds)}"
    said = {
        "helps": (f"use {bonus}", figures),
        "hurts": (f"do not use {bonus}", figures),
        "does not matter": (
            f"{bonus} does not matter",
            f"{figures}, within ±{rate(answer.margin)}",
        ),
        "cannot be told": (open_, figures + _more(found)),
    }
    return said[found.said]


def _little(found: Effect, bonus: str) -> str:
    return f"{bonus} {'helps' if found.interval.estimate > 0 else 'hurts'} a little"


def _nothing(answer: Answer) -> str:
    best = rate(max(interval.estimate for interval in answer.success.values()))
    return f"Nothing holds it back: {_own(answer)} without the bonus, {best} at best."


def _exploration(answer: Answer) -> str:
    bonus, memory = bonus_label(answer.bonus), answer.memory
    if memory is None or not answer.intervened:
        return (
            "Exploration held it back, at least in part; whether memory does too, "
            f"{_missing_control(answer)}."
        )
    if memory.excluded:
        return (
            "Exploration held it back, not memory: given memory alone changes success by "
            f"{change(memory.interval)}."
        )
    over = answer.bonus_over_memory
    assert over is not None
    return (
        f"Exploration held it back more than memory: {bonus} does more than given memory by "
        f"{change(over.interval)}."
    )


def _missing_control(answer: Answer) -> str:
    """Why memory cannot be judged by intervention."""
    if answer.memory is None:
        return "a Given arm would tell"
    worse = change(answer.memory.interval)
    return f"cannot be told, since given memory does worse than its own ({worse}): train it longer"


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
    alone = (
        "neither alone"
        if memory.excluded and answer.effect.excluded
        else ("and whether either alone would do cannot be told")
    )
    return f"Memory and exploration hold it back together, {alone}: {figures}"


def _something_else(answer: Answer) -> str:
    bonus, best = bonus_label(answer.bonus), answer.success.get("given + bonus")
    reached = f": {rate(best.estimate)}" if best is not None else ""
    return (
        f"Neither memory nor exploration holds it back: given memory and {bonus} together change "
        f"nothing{reached}. Look at optimisation, capacity and budget."
    )


def _cannot_be_told(answer: Answer) -> str:
    bonus = bonus_label(answer.bonus)
    if answer.silent:
        return f"What holds it back cannot be told: {_no_run(answer)} of this task succeeds."
    open_ = f"cannot be told with {seeds(answer.seeds)}"
    if answer.untrained and not answer.intervened:
        return "What holds it back cannot be told: of an arm of its own, half or more failed."
    if answer.effect.helps and not answer.untrained:
        said = f"Exploration held it back, at least in part; whether memory does too {open_}"
    elif answer.memory is not None and answer.memory.helps:
        said = f"Memory holds it back, at least in part; whether exploration does too {open_}"
    elif answer.both is not None and answer.both.helps:
        said = f"Given memory and {bonus} together help ({change(answer.both.interval)}); which of "
        said += f"the two is needed {open_}"
    elif not answer.intervened:
        return f"What holds it back, {_missing_control(answer)}."
    else:
        said = f"What holds it back {open_}"
    memory, needed = answer.memory, answer.needed
    if memory is not None and answer.intervened:
        said += f"; given memory changes success by {change(memory.interval)}"
    return f"{said}; about {needed} seeds an arm would tell." if needed is not None else f"{said}."


_FINDINGS: dict[HeldBackBy, Callable[[Answer], str]] = {
    "nothing": _nothing,
    "exploration": _exploration,
    "memory": _memory,
    "both": _both,
    "something else": _something_else,
    "cannot be told": _cannot_be_told,
}


def _without_intervention(answer: Answer) -> list[str]:
    """What can be seen without an intervention: weaker, and said only where there was none."""
    found = []
    over = answer.over_memoryless
    if over is not None and over.excluded:
        found.append("It does no better than the agent without a memory: its own is of no use yet.")
    elif over is not None and over.helps:
        found.append(f"It uses its memory: {change(over.interval)} over the agent without one.")
    if max(interval.estimate for interval in answer.success.values()) <= answer.margin:
        found.append("With the bonus and without it hardly ever succeeds.")
    return found + _probed(answer.decoded)


def _probed(decoded: Interval | None) -> list[str]:
    """What probes of the memory say; nothing where their seeds leave it open."""
    if decoded is None or not decoded.known:
        return []
    figures = f"AUC {change(decoded)} over the strongest control"
    if decoded.low > 0:
        return [f"Probes find what must be remembered in its memory ({figures}): it is there."]
    if decoded.high < DECODABLE:
        return [f"Probes do not find what must be remembered in its memory ({figures})."]
    return []


def _own(answer: Answer) -> str:
    return rate(answer.success["own"].estimate)


def _no_run(answer: Answer) -> str:
    ever = any(interval.estimate > 0 for interval in answer.success.values())
    return "hardly any run" if ever else "no run"


def _failures(answer: Answer) -> str:
    return "run that failed" if answer.failed == 1 else f"{answer.failed} runs that failed"


def _more(found: Effect) -> str:
    if found.needed is None:
        return f"; not even {MOST:,} seeds an arm would tell" if found.interval.known else ""
    if found.needed <= min(found.interval.n):  # a correction for other questions stands in the way
        return ""
    if abs(found.interval.estimate) > found.margin:
        return f"; about {found.needed} seeds an arm would tell"
    return f"; if it makes no difference, about {found.needed} seeds an arm would show that"
