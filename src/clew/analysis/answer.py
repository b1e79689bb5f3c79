"""The answer: does the bonus help this agent on this task, and what holds it back without one?

Found by intervention. An agent has its own memory or is *given* what a perfect memory would hold
(the control `Given`), and has the bonus or not: four arms, and what each adds to the plain agent.
The rules are `held_back_by`; `docs/concepts/answer.md` states them with their error rates.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Literal

from clew.analysis.names import NONE
from clew.analysis.results import Results
from clew.analysis.statistics import Arm, Statistics
from clew.analysis.stats.curves import over_training, still_rising
from clew.analysis.stats.effects import EQUIVALENT_SEEDS, MARGIN, SEEDS, Effect, Said, effect
from clew.analysis.stats.intervals import Interval, holm, mean_interval
from clew.analysis.stats.task import Pair, Task

HeldBackBy = Literal[
    "nothing", "exploration", "memory", "both", "something else", "cannot be told"
]  # fmt: skip
Place = Literal["own", "own + bonus", "given", "given + bonus"]
"""The four arms: the agent's own memory or given memory, without a bonus or with it."""
EXCLUDED: tuple[Said, ...] = ("does not matter", "hurts")


def held_back_by(
    *,
    bonus: Said,
    memory: Said,
    both: Said,
    bonus_over_memory: Said,
    bonus_on_memory: Said,
    memory_on_bonus: Said,
    solved: bool,
) -> HeldBackBy:
    """What holds an agent back without a bonus; the first rule that holds.

    `bonus`, `memory` and `both` are what the bonus alone, given memory alone and the two together
    do to it; `bonus_over_memory` compares the first two; the last two are what the bonus adds once
    memory is given, and what given memory adds once there is a bonus. `solved` says that the agent
    is near the top of the scale as it is.

    Given memory that does harm is a control that failed, and counts as if it had not been trained.
    """
    if memory == "hurts":
        memory = both = bonus_on_memory = memory_on_bonus = "cannot be told"
        bonus_over_memory = "helps" if bonus == "helps" else "cannot be told"
    if bonus == memory == "helps":
        return "both"
    if bonus == "helps" and (memory in EXCLUDED or bonus_over_memory == "helps"):
        return "exploration"
    if memory == "helps" and (bonus in EXCLUDED or bonus_over_memory == "hurts"):
        return "memory"
    if "helps" in (bonus, memory):
        return "cannot be told"
    if solved:
        return "nothing"
    if both == bonus_on_memory == memory_on_bonus == "helps":
        return "both"
    if bonus in EXCLUDED and memory in EXCLUDED and both in EXCLUDED:
        return "something else"
    return "cannot be told"


@dataclasses.dataclass(frozen=True)
class Answer:
    """For one agent, one task and one bonus."""

    environment: str
    reward: str
    agent: str
    bonus: str
    margin: float
    """Differences inside ±this do not matter."""
    success: Mapping[Place, Interval]
    """Of the arms that were trained: mean over seeds, 95%."""
    effect: Effect
    """What the bonus does to the agent."""
    memory: Effect | None
    """What given memory does to it without a bonus; None without such an arm, as below."""
    both: Effect | None
    """What the two do together."""
    bonus_over_memory: Effect | None
    bonus_on_memory: Effect | None
    """What the bonus does once memory is given."""
    memory_on_bonus: Effect | None
    """What given memory does once there is a bonus."""
    over_memoryless: Effect | None
    """How much better the agent is than the one without a memory, without a bonus."""
    decoded: Interval | None
    """What probes read from its memory without a bonus: AUC above the strongest control's. None if
    it was not probed."""
    solved: bool
    """Whether the agent without a bonus is near the top of the scale."""
    rising: bool
    """Whether its success was still rising when training ended."""
    over_training: Interval | None = None
    """What the bonus does to the mean success over all of training, where it helps or hurts."""
    over_others: Mapping[str, Effect] = dataclasses.field(default_factory=dict)
    """Of the bonus that helps most: how much more than each other one that helps."""
    silent: bool = False
    """Whether hardly any run of the task succeeded: no arm can be told from another then."""
    failed: int = 0
    """Runs of its arms that crashed or diverged, and are in no number here."""
    lost: bool = False
    """Whether they are counted as success 0 in all numbers, as no run of an arm is left."""
    untrained: bool = False
    """Whether half or more of an arm of its own failed. What holds the agent back is then judged
    without what the bonus does to it."""
    with_failures: Answer | None = None
    """The answer with these counted as success 0, where it is another one."""

    @cached_property
    def held_back_by(self) -> HeldBackBy:
        """What holds it back without the bonus. Without the Given arm: as far as can be said."""
        return self._held_back_with(0)

    def _held_back_with(self, seeds: int) -> HeldBackBy:
        """The same with what so many seeds an arm would probably say; with 0, what these say."""

        def said(found: Effect | None) -> Said:
            return "cannot be told" if found is None else found.said_with(seeds)

        return held_back_by(
            bonus="cannot be told" if self.untrained else said(self.effect),
            memory=said(self.memory),
            both=said(self.both),
            bonus_over_memory="helps" if self.memory is None else said(self.bonus_over_memory),
            bonus_on_memory=said(self.bonus_on_memory),
            memory_on_bonus=said(self.memory_on_bonus),
            solved=self.solved,
        )

    @property
    def intervened(self) -> bool:
        """Whether the agent's memory was replaced by a given one that does no worse."""
        return self.memory is not None and self.memory.said != "hurts"

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the arms with and without the bonus."""
        return self.effect.interval.n

    @property
    def needed(self) -> int | None:
        """Seeds an arm that would probably tell what holds it back; None if that is not known."""
        asked = (self.effect, self.memory, self.both, self.bonus_over_memory,
                 self.bonus_on_memory, self.memory_on_bonus)  # fmt: skip
        wanted = {e.needed for e in asked if e is not None and e.needed is not None}
        tried = sorted({max(n, max(self.seeds) + 1) for n in wanted})
        return next((n for n in tried if self._held_back_with(n) != "cannot be told"), None)


def answers(statistics: Statistics | Results) -> tuple[Answer, ...]:
    """One for every task, bonus and agent that has runs with the bonus and without."""
    return _answers_of(Statistics(statistics) if isinstance(statistics, Results) else statistics)


@lru_cache(maxsize=1)  # the page and the terminal ask for the same
def _answers_of(statistics: Statistics) -> tuple[Answer, ...]:
    of_tasks = (of_task(t.task, statistics.margin, statistics) for t in statistics.tasks)
    return tuple(answer for found in of_tasks for answer in found)


def of_task(
    task: Task, margin: float = MARGIN, statistics: Statistics | None = None
) -> list[Answer]:
    """Of one task; the effects of all its agents and bonuses are corrected together (Holm).

    Curves and probes, which give hints, are those of `statistics`.
    """
    found = _answers(task, margin, statistics)
    if not task.failed:
        return found
    filled = _answers(task.with_failures_as_zero(), margin, statistics)
    again = {(a.agent, a.bonus): a for a in filled}
    lost = [a for a in filled if _lost(a, task)]
    return [
        *(_with_failures(a, task, again.get((a.agent, a.bonus), a)) for a in found),
        *(dataclasses.replace(a, failed=_failed(a, task), lost=True) for a in lost),
    ]


def strongest(answers: Iterable[Answer]) -> Answer:
    """Of an agent's answers on a task, that about the bonus that helps most, or harms least."""
    return max(answers, key=lambda a: (a.effect.helps, a.effect.interval.estimate))


def _answers(task: Task, margin: float, statistics: Statistics | None) -> list[Answer]:
    """About every agent, by bonus."""
    every = [(a, b) for b in task.bonuses for a in task.both(b, task.architectures)]
    effects = [_compared(task, (a, b), (a, NONE), margin) for a, b in every]
    corrected = holm([e.p for e in effects])
    asked = [(a, b) for b in task.bonuses for a in _agents(task, b)]
    of_bonus = {arm: e.corrected(p) for arm, e, p in zip(every, effects, corrected, strict=True)}
    of_memory = _of_memory(task, asked, margin)
    found = [_answer(task, arm, of_bonus[arm], of_memory, margin, statistics) for arm in asked]
    agents = dict.fromkeys(a.agent for a in found)
    best = [strongest(a for a in found if a.agent == agent) for agent in agents]
    return [_over_others(a, task, found) if a in best else a for a in found]


def _over_others(answer: Answer, task: Task, answers: Sequence[Answer]) -> Answer:
    """The same, compared with all other bonuses that help its agent; corrected together."""
    if not answer.effect.helps:
        return answer
    arm = (answer.agent, answer.bonus)
    others = [a.bonus for a in answers if a.agent == answer.agent and a.effect.helps]
    found = {b: _compared(task, arm, (arm[0], b), answer.margin) for b in others if b != arm[1]}
    corrected = holm([e.p for e in found.values()])
    over = {b: e.corrected(p) for (b, e), p in zip(found.items(), corrected, strict=True)}
    return dataclasses.replace(answer, over_others=over)


def _of_memory(task: Task, asked: Sequence[Pair], margin: float) -> dict[Pair, Effect]:
    """What given memory does to each agent alone, and with each bonus, corrected together."""
    agents = {agent: None for agent, _ in asked if agent != task.upper}
    every = [(agent, NONE) for agent in agents] + [pair for pair in asked if pair[0] in agents]
    found = {
        (agent, bonus): _compared(task, (task.upper, bonus), (agent, NONE), margin)
        for agent, bonus in every
        if _trained(task, (task.upper, bonus)) and _trained(task, (agent, NONE))
    }
    corrected = holm([e.p for e in found.values()])
    return {pair: e.corrected(p) for (pair, e), p in zip(found.items(), corrected, strict=True)}


def _lost(answer: Answer, task: Task) -> bool:
    """Whether its agent has runs with the bonus or without, and all others failed."""
    arms = [(answer.agent, bonus) in task.arms for bonus in (NONE, answer.bonus)]
    return any(arms) and not all(arms) and answer.agent != task.upper


def _failed(answer: Answer, task: Task) -> int:
    arms = [(a, b) for a in (answer.agent, task.upper) for b in (NONE, answer.bonus)]
    return sum(task.failed.get(arm, 0) for arm in arms)


def _with_failures(answer: Answer, task: Task, again: Answer) -> Answer:
    same = (answer.effect.said, answer.held_back_by) == (again.effect.said, again.held_back_by)
    failed = _failed(answer, task)
    return dataclasses.replace(answer, failed=failed, with_failures=None if same else again)


def _agents(task: Task, bonus: str) -> tuple[str, ...]:
    """All but the upper control, which is the agent only if it is alone.

    The lower control is one of them: if memory does not hold it back, the task needs none.
    """
    pool = task.with_lower or task.architectures
    return task.both(bonus, pool)


def _answer(
    task: Task,
    arm: Pair,
    of_bonus: Effect,
    of_memory: Mapping[Pair, Effect],
    margin: float,
    statistics: Statistics | None,
) -> Answer:
    agent, bonus = arm
    places: dict[Place, Pair] = {"own": (agent, NONE), "own + bonus": (agent, bonus)}
    if agent != task.upper:
        places |= {"given": (task.upper, NONE), "given + bonus": (task.upper, bonus)}
    there: dict[Place, Pair] = {p: arm for p, arm in places.items() if arm in task.arms}

    def compared(after: Place, before: Place) -> Effect | None:
        if not all(p in there and _trained(task, there[p]) for p in (after, before)):
            return None
        return _compared(task, there[after], there[before], margin)

    lower = (task.lower, NONE)
    own = mean_interval(task.arms[agent, NONE])
    plain = (task.environment, task.reward, agent, NONE)
    usual = None if statistics is None else statistics.usual
    return Answer(
        environment=task.environment,
        reward=task.reward,
        agent=agent,
        bonus=bonus,
        margin=margin,
        success={place: mean_interval(task.arms[arm]) for place, arm in there.items()},
        effect=of_bonus,
        memory=of_memory.get((agent, NONE)),
        both=of_memory.get(arm),
        bonus_over_memory=compared("own + bonus", "given"),
        bonus_on_memory=compared("given + bonus", "given"),
        memory_on_bonus=compared("given + bonus", "own + bonus"),
        over_memoryless=_compared(task, (agent, NONE), lower, margin)
        if _trained(task, lower) and _trained(task, (agent, NONE)) and agent != task.lower
        else None,
        solved=own.n[0] >= EQUIVALENT_SEEDS and own.low >= 1 - min(2 * margin, 0.1),
        decoded=None if statistics is None else statistics.decoded.get(plain),
        rising=usual is not None and still_rising(usual, *plain, margin / 2),
        over_training=None if usual is None else _over_training(usual, plain, bonus, margin),
        silent=task.silent(margin),
        untrained=not all(_trained(task, (agent, b)) for b in (NONE, bonus)),
    )


def _trained(task: Task, arm: Pair) -> bool:
    """Whether there is such an arm, and less than half of it is zeros for runs that failed."""
    return arm in task.arms and arm not in task.untrained


def _over_training(results: Results, plain: Arm, bonus: str, margin: float) -> Interval | None:
    """What the bonus does to the mean over all of training, where that is more than chance."""
    curves = results.curves.get(plain[:2], {})
    with_it, without = over_training(*(curves.get((plain[2], b), []) for b in (bonus, NONE)))
    if min(len(with_it), len(without)) < SEEDS:
        return None
    found = effect(with_it, without, margin)
    return found.interval if found.said in ("helps", "hurts") else None


def _compared(task: Task, after: Pair, before: Pair, margin: float) -> Effect:
    found = effect(task.arms[after], task.arms[before], margin)
    return found.open() if task.silent(margin) else found
