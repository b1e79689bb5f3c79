"""The answers of one task as a small grid: agents × what the bonus does and what holds them back.

Every cell is a colour, a shape and a word, so that it reads without any one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from clew.analysis.advice import label, line, shown
from clew.analysis.answer import Answer, HeldBackBy
from clew.analysis.formatting import signed_rate
from clew.analysis.names import bonus_label
from clew.analysis.report.glossary import term
from clew.analysis.report.task_names import TaskNames
from clew.analysis.stats.effects import Said
from clew.analysis.summary import agents_first, by_task

EFFECTS: dict[Said, str] = {
    "helps": "▲", "hurts": "▼", "does not matter": "=", "cannot be told": "?",
}  # fmt: skip
HELD: dict[HeldBackBy, str] = {
    "exploration": "◇", "memory": "■", "both": "◆", "nothing": "✓", "something else": "✕",
    "cannot be told": "?",
}  # fmt: skip


def grid(answers: Sequence[Answer], lower: str) -> Markup:
    """A `<table>`; without a Given arm there is no column for what holds them back."""
    tested = any(a.intervened for a in answers)
    bonuses = list(dict.fromkeys(a.bonus for a in answers))
    heads = "".join(f'<th scope="col">{_head(b, tested)}</th>' for b in bonuses)
    rows = []
    for agent in dict.fromkeys(a.agent for a in agents_first(answers, lower)):
        mine = {a.bonus: a for a in answers if a.agent == agent}
        cells = "".join(_cell(mine.get(b), tested) for b in bonuses)
        kind = ' class="control"' if agent == lower else ""
        rows.append(
            f'<tr{kind}><th scope="row">{escape(agent)}{_role(agent, lower)}</th>{cells}</tr>'
        )
    return Markup(
        '<table class="grid"><thead><tr><td></td>'
        f"{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def compact_grid(answers: Sequence[Answer], names: TaskNames, lower: str) -> Markup:
    """All tasks in one table: a row a task and bonus, a column an agent, shapes for words."""
    agents = list(dict.fromkeys(a.agent for a in agents_first(answers, lower)))
    marked = [f"{escape(a)}{_role(a, lower)}" for a in agents]
    heads = "".join(f'<th scope="col">{name}</th>' for name in marked)
    bodies = []
    for task, mine in by_task(answers).items():
        bonuses = list(dict.fromkeys(a.bonus for a in mine))
        told = {(a.agent, a.bonus): a for a in mine}
        first = f'<th scope="rowgroup" rowspan="{len(bonuses)}">{escape(names[task])}</th>'
        for i, bonus in enumerate(bonuses):
            cells = "".join(_small_cell(told.get((agent, bonus)), lower) for agent in agents)
            head = f'{first if i == 0 else ""}<th scope="row">{escape(bonus_label(bonus))}</th>'
            bodies.append(f"<tr{' class=first' if i == 0 else ''}>{head}{cells}</tr>")
    return Markup(
        '<table class="grid compact"><thead><tr><td></td><td></td>'
        f"{heads}</tr></thead><tbody>{''.join(bodies)}</tbody></table>"
    )


def chip(kind: str, shape: str, word: str, more: str = "") -> str:
    """A coloured word with its shape."""
    return (
        f'<span class="chip {kind.replace(" ", "-")}"><i aria-hidden="true">{shape}</i> '
        f"{escape(word)}{f' <b>{escape(more)}</b>' if more else ''}</span>"
    )


def effect_chip(answer: Answer) -> str:
    """What the bonus does to the agent."""
    said = answer.effect.said
    figure = signed_rate(answer.effect.interval.estimate) if said in ("helps", "hurts") else ""
    return chip(said, EFFECTS[said], said, figure)


def _small_cell(answer: Answer | None, lower: str) -> str:
    if answer is None:
        return "<td></td>"
    said, held = answer.effect.said, shown(answer)
    chips = chip(said, EFFECTS[said], signed_rate(answer.effect.interval.estimate))
    if answer.intervened:
        chips += chip(f"held {held}", HELD[held], label(answer) if held != "cannot be told" else "")
    kind = ' class="control"' if answer.agent == lower else ""
    return f'<td{kind} title="{escape(line(answer))}">{chips}</td>'


def _role(agent: str, lower: str) -> str:
    return f" <small>{term('control', 'control')}</small>" if agent == lower else ""


def _head(bonus: str, tested: bool) -> str:
    named = f"<span>{escape(bonus_label(bonus))}</span>"
    return named + (f"<span>{term('held-back', 'held back by')}</span>" if tested else "")


def _cell(answer: Answer | None, tested: bool) -> str:
    if answer is None:
        return '<td><span class="chip absent">not trained</span></td>'
    held = shown(answer)
    why = chip(f"held {held}", HELD[held], label(answer)) if tested else ""
    return f'<td title="{escape(line(answer))}">{effect_chip(answer)}{why}</td>'
