"""What the page's words mean: the one place that says it."""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from markupsafe import Markup


class Term(NamedTuple):
    """A word of the page."""

    title: str
    meaning: str
    pattern: str
    """A regular expression that finds it in a sentence."""


TERMS: dict[str, Term] = {
    "agent": Term(
        "Agent",
        "Who the answer is about: a memory architecture trained here, or a name in your table.",
        r"agents?",
    ),
    "amplify": Term(
        "Amplify",
        "The bonus moves the memories apart: ΔSEP is above 0 and the gains differ between "
        "memories. Where no memory gains and some lose, it is called harm.",
        r"[Aa]mplif(?:y|ies|ication)",
    ),
    "architecture": Term(
        "Architecture", "The memory of an agent, such as GRU or RetNet.", r"architectures?"
    ),
    "arm": Term(
        "Arm",
        "All runs that differ in nothing but their seed: one task, one memory, one bonus or none.",
        r"arms?",
    ),
    "bonus": Term(
        "Bonus",
        "An exploration bonus: reward that is added in training for seeing something new. It is "
        "never counted as success.",
        r"bonus(?:es)?",
    ),
    "held-back": Term(
        "Held back by",
        "What the agent lacks without a bonus, found by giving it the bonus, a perfect memory, or "
        "both, and looking which of them raises success.",
        r"[Hh]eld back by",
    ),
    "cannot-be-told": Term(
        "Cannot be told",
        "The seeds show neither a difference nor that there is none that matters. It is not "
        "evidence of no effect.",
        r"cannot be told",
    ),
    "control": Term(
        "Control",
        "An agent that is there to be compared with: Memoryless (lower) and Given (upper).",
        r"controls?",
    ),
    "delta-sep": Term(
        "ΔSEP",
        "How much further apart the memories are with the bonus than without: the change of SEP, "
        "the standard deviation of their mean successes.",
        r"ΔSEP|SEP",
    ),
    "equalise": Term(
        "Equalise",
        "The bonus brings the memories closer together: ΔSEP is below 0 and the gains differ "
        "between memories. Where no memory gains and some lose, it is called harm.",
        r"[Ee]qualis(?:es|e|ation)",
    ),
    "exploratory": Term(
        "Exploratory",
        "Looked at after the fact, not corrected for how much was looked at, or without an "
        "intervention. A hint for the next experiment, not a finding.",
        r"exploratory",
    ),
    "gain": Term("Gain", "Mean success with the bonus minus mean success without.", r"gains?"),
    "given": Term(
        "Given",
        "The upper control: a network without a memory that is given, at every step, what a "
        "perfect memory would hold. What it adds to an agent is what that agent's memory costs it.",
        r"Given",
    ),
    "holm": Term(
        "Holm",
        "Holm's correction: p-values are made larger according to how many questions were asked "
        "together, so that one in twenty such families at most has a false alarm.",
        r"Holm",
    ),
    "inconclusive": Term(
        "Inconclusive", "None of the patterns could be shown, nor that nothing happens.",
        r"[Ii]nconclusive|not settled",
    ),
    "interval": Term(
        "95% interval",
        "In square brackets: the range that would contain the true value in 95 of 100 repetitions "
        "with new seeds.",
        r"95% intervals?|intervals?",
    ),
    "lambda": Term("λ", "The coefficient that a bonus is multiplied with.", r"λ"),
    "margin": Term(
        "Margin", "A difference that is shown to be smaller than this does not matter.", r"margin"
    ),
    "memoryless": Term(
        "Memoryless",
        "The lower control: the same agent without a memory. A bonus that helps it helps by "
        "something other than memory.",
        r"Memoryless",
    ),
    "null": Term(
        "Null",
        "The bonus changes neither the average nor the differences by an amount that matters.",
        r"[Nn]ull",
    ),
    "reorder": Term(
        "Reorder", "The bonus does more for some memories than for others.", r"[Rr]eorders?"
    ),
    "seed": Term(
        "Seed", "One repetition of training with its own random numbers; a dot.", r"seeds?"
    ),
    "shift": Term(
        "Shift",
        "The bonus helps, or hurts, the memories on average; the differences between them were not "
        "shown to change.",
        r"[Ss]hift",
    ),
    "sparse": Term(
        "Structurally sparse",
        "Of a reward: a smaller memory than a perfect one predicts it exactly, so learning to "
        "predict reward does not force the memory to hold all that good play needs.",
        r"structurally (?:sparse|dense)",
    ),
    "success": Term(
        "Success", "Share of evaluation episodes that reached the goal, from 0 to 1.", r"success"
    ),
    "tail-mean": Term(
        "Tail mean",
        "Mean success over the last 20% of a run's evaluations: the one number of a run.",
        r"tail means?",
    ),
    "task": Term("Task", "An environment with a reward.", r"tasks?"),
}  # fmt: skip
_ANY = re.compile("|".join(rf"(?P<_{i}>(?<!\w){t.pattern}(?!\w))" for i, t in enumerate(TERMS.values())))  # noqa: E501  # fmt: skip


def term(key: str, text: str = "") -> Markup:
    """A link to a term's entry."""
    return Markup(f'<a class="term" href="#term-{key}">{escape(text or TERMS[key].title)}</a>')


EXPLORATORY = Markup('<a class="exploratory" href="#term-exploratory">exploratory</a>')
"""The mark of what is no finding."""


def with_terms(text: str) -> Markup:
    """A sentence, escaped, with a link at the first mention of every term."""
    parts, at, seen = [], 0, set()
    keys = list(TERMS)
    for found in _ANY.finditer(text):
        key = keys[int(str(found.lastgroup)[1:])]
        if key not in seen:
            seen.add(key)
            parts += [escape(text[at : found.start()]), term(key, found.group())]
            at = found.end()
    return Markup("".join([*parts, escape(text[at:])]))
