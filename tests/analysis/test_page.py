"""What the page says first, in which words, and that every term is explained."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from clew.analysis import Results, Statistics, answers, published, read_store, verdicts
from clew.analysis.report import page
from clew.analysis.report.answer_grid import EFFECTS, HELD
from clew.analysis.report.four_arms_svg import swarm
from clew.analysis.report.glossary import TERMS, with_terms
from clew.analysis.report.task_names import TaskNames
from clew.analysis.stats.intervals import Interval, holm, without_interval
from clew.analysis.summary import FEW, NO_ANSWER, NOT_TESTED, lines, overall
from clew.analysis.verdict import RULES, judge
from tests.analysis.test_answer import table

EVEN = "GRU: E3B does not matter, +.00 ["
GOLDEN = Path(__file__).parents[1] / "golden" / "store-1"


def four(own: float, bonus: float, given: float, both: float, std: float = 0.02) -> Results:
    return table(
        GRU_none=(own, std), GRU_e3b=(bonus, std), Given_none=(given, std), Given_e3b=(both, std)
    )


def three(*gains: float) -> Results:
    arms = {}
    for name, gain in zip(("GRU", "LSTM", "RetNet"), gains, strict=True):
        arms |= {f"{name}_none": (0.8, 0.05), f"{name}_e3b": (0.8 + gain, 0.05)}
    return table(**arms)


def made(results: Results, **extras) -> str:
    return page(Statistics(results, 500, 500), **extras)


def words(text: str) -> str:
    plain = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return html.unescape(" ".join(re.sub(r"<[^>]*>", "", plain).split()))


def above_the_fold(text: str) -> str:
    return words(text[text.index('<section id="answer">') : text.index("<nav")])


@pytest.mark.parametrize(
    ("arms", "begins", "ends"),
    [
        ((0.2, 0.8, 0.2, 0.8), "GRU: use E3B, +.60 [", "Memory was not the bottleneck."),
        ((0.3, 0.3, 0.9, 0.9), "GRU: E3B does not matter, +.00 [", "Memory is the bottleneck."),
        ((0.3, 0.1, 0.9, 0.5), "GRU: do not use E3B, −.20 [", "Memory is the bottleneck."),
        ((0.1, 0.4, 0.5, 0.9), "GRU: use E3B, +.30 [", "Memory and exploration hold it back."),
        ((0.1, 0.1, 0.1, 0.9), EVEN, "Memory and exploration hold it back together."),
        ((0.97, 0.97, 0.97, 0.97), EVEN, "Nothing holds it back: .97 without it."),
        ((0.08, 0.08, 0.08, 0.08), EVEN, "Neither memory nor exploration is the bottleneck."),
        ((0.3, 0.3, 0.6, 0.95), EVEN, "Once memory is given, E3B helps: +.35"),
        ((0.4, 0.5, 0.5, 0.6, 0.3), "GRU: whether E3B", "What holds it back cannot be told."),
    ],
)  # fmt: skip
def test_the_first_line_is_the_whole_answer(
    arms: tuple[float, ...], begins: str, ends: str
) -> None:
    text = made(four(*arms))
    first = re.search(r'<p class="overall">(.*?)</p>', text)
    assert first is not None
    line = html.unescape(first.group(1))
    assert line.startswith(begins)
    assert ends in line
    assert re.search(r"<h1>(.*?)</h1>", text).group(1) == (  # type: ignore[union-attr]
        "Does E3B help GRU on Maze / sparse, or is memory the bottleneck?"
    )
    statistics = Statistics(four(*arms))
    assert lines(statistics, answers(statistics)) == [line]


def test_each_agent_has_a_line_and_the_control_comes_last() -> None:
    arms = {"LSTM_none": (0.3, 0.02), "LSTM_e3b": (0.3, 0.02), "GRU_none": (0.2, 0.02),
            "GRU_e3b": (0.8, 0.02), "Memoryless_none": (0.1, 0.02), "Memoryless_e3b": (0.1, 0.02),
            "Given_none": (0.9, 0.02), "Given_e3b": (0.9, 0.02)}  # fmt: skip
    text = above_the_fold(made(table(**arms)))
    assert "E3B helps GRU and does not matter to LSTM. Held back by memory: LSTM; by" in text
    places = [text.index(f"{agent}: ") for agent in ("GRU", "LSTM", "Memoryless")]
    assert places == sorted(places)
    assert "(control: no memory)" in text
    for shape in (EFFECTS["helps"], EFFECTS["does not matter"], HELD["memory"], HELD["both"]):
        assert shape in text


@pytest.mark.parametrize(
    "results", [published(), three(-0.4, -0.4, -0.4), four(0.2, 0.8, 0.2, 0.8)]
)
def test_no_jargon_before_the_first_section(results: Results) -> None:
    text = above_the_fold(made(results))
    for jargon in ("SEP", "Holm", "structurally", "amplif", "equalis", " p ", "ANOVA"):
        assert jargon not in text


def test_another_margin_is_said() -> None:
    text = above_the_fold(page(Statistics(four(0.3, 0.36, 0.9, 0.9), 500, 500, margin=0.1)))
    assert "inside ±.10, the margin" in text
    assert "GRU: E3B does not matter, +.06 [" in text


def test_many_answers_stay_short() -> None:
    results = published()
    found = answers(Statistics(results))
    assert len(found) > FEW
    text = made(results)
    said = above_the_fold(text)
    assert said.index("E3B helps in 7 of 10 cases") < said.index(NOT_TESTED)
    top = text[text.index('<section id="answer">') : text.index("<nav")]
    assert top.count("<table") == 1
    unfolded = words(re.sub(r"<details>.*?</details>", "", top, flags=re.DOTALL))
    assert "use E3B" not in unfolded
    assert "RetNet: use E3B, +.40 [" in said
    assert len(lines(Statistics(results), found)) == 3 + 2 * 3  # sentences; tasks × bonuses


def test_what_is_missing_is_said_after_the_answer() -> None:
    results = four(0.2, 0.8, 0.2, 0.8)
    runs = results.runs.copy()
    lost = (runs["architecture"] == "GRU") & (runs["seed"] == 7)
    runs.loc[lost, ["status", "tail_mean"]] = ["diverged", float("nan")]
    text = above_the_fold(made(Results.from_frames(runs)))
    assert text.index("GRU: use E3B") < text.index("30 of 32 runs are finished; 2 diverged.")
    assert "left out of every number" in text


def test_nothing_to_answer() -> None:
    results = table(GRU_none=(0.2, 0.05))
    assert overall(answers(Statistics(results))) == [NO_ANSWER]
    assert NO_ANSWER in above_the_fold(made(results))


def test_hints_are_marked_as_exploratory() -> None:
    hinted = made(table(GRU_none=(0.5, 0.02), GRU_e3b=(0.9, 0.02), Memoryless_none=(0.2, 0.02)))
    assert re.search(r'class="exploratory".*?It uses its memory', hinted)
    tested = made(four(0.3, 0.3, 0.9, 0.9))
    assert 'class="exploratory"' not in tested


def test_harm_is_called_harm() -> None:
    every, one, alike = three(-0.4, -0.4, -0.4), three(0, 0, -0.7), three(0.1, 0.1, 0.1)
    (hurt,), (ruined,), (helped,) = (verdicts(Statistics(r)) for r in (every, one, alike))
    assert (hurt.heading, hurt.tone) == ("hurts every memory", "harm")
    assert (ruined.pattern, ruined.tone) == ("amplify", "harm")
    assert "E3B harms RetNet, so differences grow; it helps none: ΔSEP +" in ruined.sentence
    assert (helped.heading, helped.tone) == ("helps every memory", "help")
    for results, heading in ((every, hurt.heading), (one, ruined.heading)):
        text = made(results)
        assert f'<span class="chip harm">{heading}</span>' in text
        assert 'class="chip help"' not in text
    low, high = (0.1, 0.05), (0.8, 0.05)
    better_ones = table(
        GRU_none=low, GRU_e3b=low, LSTM_none=high, LSTM_e3b=low, RetNet_none=high, RetNet_e3b=low
    )
    (levelled,) = verdicts(Statistics(better_ones))
    assert (levelled.pattern, levelled.tone) == ("equalise", "harm")
    assert levelled.heading == "harms LSTM and RetNet, so memories are more alike"


def test_a_section_with_margins_of_its_own_says_so() -> None:
    text = words(made(published()))
    assert "Its margins are fixed; --margin sets that of the answer at the top." in text


def test_hurts_is_said_only_where_a_memory_is_hurt() -> None:
    for lost, heading in (
        (0.45, "does more for some memories than for others"),
        (0.41, "helps some memories, hurts others"),
    ):
        results = table(LSTM_none=(0.45, 0.01), LSTM_e3b=(0.49, 0.01), GRU_none=(0.45, 0.01),
                        GRU_e3b=(lost, 0.01), RetNet_none=(0.53, 0.01),
                        RetNet_e3b=(0.5, 0.01) if lost < 0.45 else (0.53, 0.01))  # fmt: skip
        (found,) = verdicts(Statistics(results))
        assert (found.pattern, found.heading) == ("reorder", heading)
        assert heading in found.sentence


def test_only_a_shift_that_matters_is_one() -> None:
    far = Interval(0.0, -0.03, 0.03, (9,), "t")
    mattering = Interval(0.06, 0.04, 0.08, (9,), "t")
    tiny = Interval(0.02, 0.01, 0.03, (9,), "t")
    assert judge(far, mattering, 1.0, 1.0, 0.01) == "shift"
    assert judge(far, mattering, 1.0, 1.0, 0.1) == "null"
    assert judge(far, tiny, 1.0, 1.0, 0.01) == "null"
    exact = without_interval(1.0, (9,), "permutation", "all seeds are equal")
    assert judge(far, exact, 1.0, 1.0, 0.01) == "shift"


def test_averages_are_corrected_over_all_verdicts() -> None:
    found = verdicts(Statistics(published(), resamples=50, permutations=50))
    tests = [s.average_gains[b] for s in Statistics(published()).tasks for b in s.task.bonuses]
    assert [v.p_average for v in found] == holm([test.p for test in tests])


def test_controls_are_named_only_where_trained() -> None:
    both = words(made(four(0.2, 0.8, 0.2, 0.8)))
    none = words(made(table(GRU_none=(0.2, 0.02), GRU_e3b=(0.8, 0.02))))
    assert "Given (given memory)" in both
    assert "Memoryless (no memory)" not in both
    assert "Given (given memory)" not in none


def test_one_memory_has_no_differences() -> None:
    text = made(four(0.2, 0.8, 0.2, 0.8))
    start = text.index('<section id="differences">')
    section = text[start : text.index("</section>", start)]
    assert "it takes two memories" in section
    assert "chip" not in section


def test_every_term_has_an_entry() -> None:
    text = made(published())
    linked = set(re.findall(r'href="#term-([^"]+)"', text))
    entries = re.findall(r'id="term-([^"]+)"', text)
    assert linked <= set(entries)
    assert len(entries) == len(set(entries)) == len(TERMS)
    for needed in ("bonus", "arm", "tail-mean", "given", "memoryless", "interval", "margin",
                   "holm", "delta-sep", "amplify"):  # fmt: skip
        assert needed in linked
    assert set(RULES) <= set(TERMS)


def test_terms_are_linked_once_and_text_is_escaped() -> None:
    found = with_terms("<b> the bonus, a bonus, bonuses; Givenness")
    assert found.startswith("&lt;b&gt; the <a ")
    assert found.count("<a ") == 1


def test_links_inside_the_page_lead_somewhere() -> None:
    text = made(published())
    targets = set(re.findall(r'\bid="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= targets


def test_every_seed_is_a_dot_with_its_run() -> None:
    contents = read_store(GOLDEN)
    text = made(contents.results, configuration={"store": "my store"})
    finished = contents.results.usual().finished
    assert text.count("<circle cx=") == len(finished)
    for name in finished["run"]:
        assert (GOLDEN / "runs" / name).is_dir()
        assert f'data-run="{name}"' in text
    assert 'data-store="&#39;my store&#39;"' in text
    assert "data-run" not in re.sub(r"<script.*?</script>", "", made(published()), flags=re.DOTALL)


def test_dots_do_not_hide_each_other() -> None:
    assert swarm([10, 10, 10, 10, 40]) == [0, -1, 1, -2, 0]


def test_short_names_and_footnotes() -> None:
    names = TaskNames([("World[actions=cardinal,size=4]", "sparse"), ("World", "sparse"),
                       ("World[actions=cardinal,size=4]", "dense")])  # fmt: skip
    assert names["World[actions=cardinal,size=4]", "sparse"] == "World (size 4)¹ / sparse"
    assert names["World", "sparse"] == "World / sparse"
    assert names.notes == ["¹ World with actions=cardinal, size=4."]
