"""Many answers in a few sentences, for the top of a page and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clew.analysis.advice import UNTESTED, action, choice, line
from clew.analysis.answer import Answer, HeldBackBy, strongest
from clew.analysis.formatting import listed
from clew.analysis.names import MEMORYLESS, bonus_label, task_label
from clew.analysis.shortfalls import all_tasks, left_out, no_success, unanswered
from clew.analysis.statistics import Statistics
from clew.analysis.stats.effects import Said

FEW = 8
"""Answers that are said one by one; more are summed up."""
CASES = " (an agent on a task)"
NO_ANSWER = "There is no answer yet: no task has finished runs both with a bonus and without."
NOT_TESTED = (
    "Whether memory is the bottleneck was not tested: that needs runs of Given, the agent that is "
    "given what a perfect memory would hold."
)
EFFECTS: tuple[Said, ...] = ("helps", "hurts", "does not matter")
_TO = {"helps": "", "hurts": "", "does not matter": " to"}
_ALL = {"helps": "every", "hurts": "every", "does not matter": "any"}
HELD: tuple[HeldBackBy, ...] = ("memory", "exploration", "both", "something else", "nothing")


def by_task(answers: Iterable[Answer]) -> dict[tuple[str, str], list[Answer]]:
    """By environment and reward, in their order."""
    found: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        found.setdefault((answer.environment, answer.reward), []).append(answer)
    return found


def agents_first(answers: Iterable[Answer], lower: str = MEMORYLESS) -> list[Answer]:
    """By agent, the control without a memory last."""
    found = list(answers)
    order = list(dict.fromkeys(a.agent for a in found))
    return sorted(found, key=lambda a: (a.agent == lower, order.index(a.agent)))


def agents_of(answers: Sequence[Answer], lower: str = MEMORYLESS) -> list[Answer]:
    """Those that are not about the control, unless all are."""
    return [a for a in answers if a.agent != lower] or list(answers)


def headline(statistics: Statistics, answers: Sequence[Answer]) -> list[str]:
    """The first sentences: that nothing succeeds, what was answered, and what was not."""
    lower, tasks = statistics.results.lower, all_tasks(statistics)
    told = overall(answers, lower, several=len(tasks) > 1)
    open_ = unanswered(statistics, [*by_task(agents_of(answers, lower))]) if answers else []
    return [*no_success(statistics), *told, *open_]


def overall(
    answers: Sequence[Answer], lower: str = MEMORYLESS, *, several: bool = False
) -> list[str]:
    """What each bonus does and what holds the agents back; the control is not counted.

    If there are `several` tasks and one was answered, it is named.
    """
    asked = agents_of(answers, lower)
    if not asked:
        return [NO_ANSWER]
    answered = list(by_task(asked))
    if several and len(answered) == 1:
        where = f"On {task_label(*answered[0])}"
        return [f"{where}: {each}" for each in overall(answers, lower)]
    if best := alone(answers, lower):
        return [line(best), *filter(None, [choice(best)])]
    bonuses = list(dict.fromkeys(a.bonus for a in asked))
    said = [effects(b, [a for a in asked if a.bonus == b]) for b in bonuses]
    if any(a.intervened for a in asked):
        said.append(held_back(asked))
    first, *others = said
    return [first, *(each.replace(CASES, "") for each in others)]


def alone(answers: Sequence[Answer], lower: str = MEMORYLESS) -> Answer | None:
    """If all are about one agent on one task: the one about the bonus that helps it most."""
    groups = by_agent(agents_of(answers, lower))
    return strongest(groups[0]) if len(groups) == 1 else None


def by_agent(answers: Iterable[Answer]) -> list[list[Answer]]:
    """Those about one agent on one task together; they differ in the bonus."""
    found: dict[tuple[str, str, str], list[Answer]] = {}
    for answer in answers:
        task = (answer.environment, answer.reward)
        found.setdefault((*task, answer.agent), []).append(answer)
    return list(found.values())


def untested(answers: Sequence[Answer], lower: str = MEMORYLESS) -> str:
    """That nobody's memory was replaced, if that is so and `overall` does not say it."""
    tested = any(a.intervened for a in agents_of(answers, lower))
    return "" if tested or not answers or alone(answers, lower) else NOT_TESTED


def effects(bonus: str, answers: Sequence[Answer]) -> str:
    """'E3B helps GRU and LSTM and hurts RetNet.'; with several tasks, in how many cases."""
    several, name = len(by_task(answers)) > 1, bonus_label(bonus)
    parts = []
    for said in EFFECTS:
        mine = [a for a in answers if a.effect.said == said]
        if len(mine) == len(answers) > 1:
            every = _ALL[said]
            return f"{name} {said}{_TO[said]} {every} agent{f' on {every} task' * several}."
        if mine:
            of = f" of {len(answers)} cases{CASES}" * (not parts)
            parts.append(
                f"{said} in {len(mine)}{of}" if several else f"{said}{_TO[said]} {_who(mine)}"
            )
    open_ = [a for a in answers if a.effect.said == "cannot be told"]
    if not parts:
        return f"Whether {name} helps cannot be told."
    rest = f"; {len(open_)}" if several else f"; for {_who(open_)} it"
    return f"{name} {listed(parts)}{f'{rest} cannot be told' if open_ else ''}."


def held_back(answers: Sequence[Answer]) -> str:
    """'Held back by memory: GRU and LSTM; by exploration: RetNet.'"""
    answers = [strongest(mine) for mine in by_agent(answers)]
    found = {(a.agent, a.held_back_by) for a in answers}
    several = len(by_task(answers)) > 1 or len(found) > len({a.agent for a in answers})
    parts = []
    for held in HELD:
        mine = [a for a in answers if a.held_back_by == held]
        if mine:
            who = f" in {len(mine)}" if several else f": {_who(mine)}"
            who += f" of {len(answers)} cases" * (several and not parts)
            by = "memory and exploration" if held == "both" else held
            parts.append(f"{'by ' if parts else ''}{by}{who}")
    if not parts:
        return "What holds them back cannot be told."
    open_ = [a for a in answers if a.held_back_by == "cannot be told"]
    rest = f"; {len(open_)}" if several else f"; for {_who(open_)} it"
    return f"Held back by {'; '.join(parts)}{f'{rest} cannot be told' if open_ else ''}."


def brief(answer: Answer) -> str:
    """Its line in a list that says once that memory was not tested."""
    return line(answer).replace(f" {UNTESTED}", "")


def lines(statistics: Statistics, answers: Sequence[Answer]) -> list[str]:
    """For a terminal: every answer, or with more than `FEW` a line for every task and bonus."""
    lower = statistics.results.lower
    found = [*headline(statistics, answers), *filter(None, [untested(answers, lower)])]
    agents, first = agents_of(answers, lower), alone(answers, lower)
    for task, mine in by_task(answers).items():
        if len(answers) > FEW:
            asked = [a for a in mine if a in agents]
            bonuses = dict.fromkeys(a.bonus for a in asked)
            told = [effects(b, [a for a in asked if a.bonus == b]) for b in bonuses]
        else:
            told = [
                said
                for one in by_agent(agents_first(mine, lower))
                for said in _of(one, first, lower)
            ]
        found += [f"{task_label(*task)}:", *(f"  {each}" for each in told)] if told else []
    return [*found, *left_out(statistics)]


def _of(mine: Sequence[Answer], first: Answer | None, lower: str) -> list[str]:
    """About one agent: its bottleneck once, and nothing that the first lines have said."""
    best = strongest(mine)
    others = [action(a) for a in mine if a is not best]
    if best is first:
        return others
    return [_named(best, lower), *others, *filter(None, [choice(best)])]


def _named(answer: Answer, lower: str) -> str:
    return brief(answer) + (" (control: no memory)" if answer.agent == lower else "")


def _who(answers: Iterable[Answer]) -> str:
    return listed(a.agent for a in answers)
