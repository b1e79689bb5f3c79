"""The page: self-contained, names what is missing, escapes names, and works in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clew.analysis import Results, Statistics, published, published_success
from clew.analysis.report import compare, compare_with_published, page, write_report
from clew.analysis.report.proofs import beside, in_words
from clew.analysis.stats.intervals import Interval
from clew.analysis.verdict import RULES
from clew.machines.tasks import TaskSpec, TaskVerdict
from clew.validate import BadInput
from tests.analysis.matrix import matrix

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)  # noqa: E501  # fmt: skip
FEW = published_success().query(
    "reward in ['sparse', 'penalty'] and environment != 'TinyReproduce'"
)
RUN = "mystery-sparse-s"
NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def small() -> str:
    made = matrix(4, 30, FEW.query("environment == 'MysteryPath-Grid'"))
    named = made.runs.assign(run=RUN + made.runs["seed"].astype(str))
    runs = Results.from_frames(named, made.evaluations, made.rollouts)
    return page(
        Statistics(runs),
        compared=compare_with_published(runs),
        configuration={"suite": "small", "store": "my results"},
        proofs=proofs(),
    )


def proofs(expected: str = "amplify") -> dict[tuple[str, str], TaskVerdict]:
    tally = {"pairs": 7, "unpoolable": 0}
    summary: Any = {
        "states": 12, "discount": "9/10", "verdict": "sparse", "witness": {"states": 1},
        "profile": {"all": tally, "path": tally, "cue": {"pairs": 3, "unpoolable": 2}},
        "expected_effect_of_a_bonus": expected, "reasons": ["so it is"], "limits": ["no more"],
    }  # fmt: skip
    tasks = {reward: TaskSpec("MysteryPath-Grid", reward) for reward in ("sparse", "penalty")}
    return {
        ("MysteryPath-Grid", "sparse"): TaskVerdict(
            tasks["sparse"], summary, {"size": 3}, refused="too large"
        ),
        ("MysteryPath-Grid", "penalty"): TaskVerdict(tasks["penalty"], refused="too large"),
    }


def test_the_control_is_drawn_beside_the_memories(small: str) -> None:
    section = small[small.index('<section id="differences">') :]
    panels = re.findall(r"<svg.*?</svg>", section[: section.index("</section>")], re.DOTALL)
    assert len(panels) == 4  # two rewards, two bonuses
    for each in panels:
        lines = re.findall(r'<path class="line"[^>]*>', each)
        assert len(lines) == 6
        assert sum("stroke-dasharray" in line for line in lines) == 1
        assert each.count('class="sep"') == 2


def section(made: str, name: str) -> str:
    """The words of one section, without its tags."""
    start = made.index(f'<section id="{name}">')
    words = re.sub(r"<[^>]*>", "", made[start : made.index("</section>", start)])
    return html.unescape(" ".join(words.split()))


def test_the_proof_stands_beside_the_measurement(small: str) -> None:
    words = section(small, "proofs")
    assert (
        "Proved of a smaller relative of the task, not of the task itself: size=3 (12 states, "
        "γ = 9/10): the reward is structurally sparse (a machine of 1 state encodes it and is not "
        "perfect). Expected of a bonus: amplify the differences between memories."
    ) in words
    assert "as expected E3B amplifies differences." in words
    assert "those in cue (2 of 3 pairs)" in words
    assert "It never supervises path (0 of 7)." in words
    assert "The task itself was not decided: too large." in words
    assert "Nothing: too large." in words
    assert "nothing was expected" in words
    assert "not as expected" not in words


@pytest.mark.parametrize(
    ("witness", "said"),
    [
        ("no_machine_encodes", "(no finite machine encodes it)"),
        ("no_machine_is_perfect", "(no finite machine is perfect)"),
    ],
)
def test_no_more_is_said_of_machines_than_was_proved(witness: str, said: str) -> None:
    finding = proofs()["MysteryPath-Grid", "sparse"]
    assert finding.summary is not None
    summary: Any = {**finding.summary, "witness": {witness: True}}
    assert f"structurally sparse {said}." in in_words(replace(finding, summary=summary))


def test_what_was_not_expected_is_explained() -> None:
    runs = matrix(4, 0, FEW.query("environment == 'MysteryPath-Grid'"))
    words = section(page(Statistics(runs), proofs=proofs("null")), "proofs")
    assert (
        "not as expected E3B amplifies differences. Expected was that it would change nothing that "
        "matters; that failed here. Both can be true: the proof is of a smaller relative, the measu"
    ) in words
    assert "not how fast they are learned" in words


def one_memory(expected: str, gain: float) -> str:
    """What the page says beside the proof where a GRU was trained, and no other memory."""
    rows = FEW.query("environment == 'MysteryPath-Grid' and bonus in ['none', 'e3b']")
    rows = rows.query("architecture in ['GRU', 'Memoryless']").assign(mean=0.5, std=0.005)
    rows.loc[rows["bonus"] == "e3b", "mean"] += gain
    return section(page(Statistics(matrix(6, 0, rows)), proofs=proofs(expected)), "proofs")


@pytest.mark.parametrize(
    ("expected", "gain", "said"),
    [
        ("equalise", 0.0, "E3B does not help GRU and Memoryless. Expected was that it would equal"),
        ("amplify", -0.3, "E3B does not help GRU and Memoryless. Expected was that it would ampl"),
        ("null", 0.3, "E3B helps GRU and Memoryless. Expected was that it would change nothing"),
        ("null", 0.0, ""),
        ("equalise", 0.3, ""),
        ("undecided", 0.0, ""),
    ],
)
def test_an_expectation_that_failed_for_one_agent_is_said_to(
    expected: str, gain: float, said: str
) -> None:
    words = one_memory(expected, gain)
    assert ("not as expected" in words, said in words) == (bool(said), True)


@pytest.mark.parametrize("pattern", RULES)
def test_only_the_expected_pattern_is_as_expected(pattern: str) -> None:
    small = Interval(0.01, -0.02, 0.05, (9, 9), "")
    said = {e: beside(e, pattern, small) for e in ("amplify", "equalise", "null")}
    assert [e for e, text in said.items() if text == "as expected"] == (
        [pattern] if pattern in said else []
    )
    assert beside("undecided", pattern, small) == "nothing was expected"


def test_what_is_not_settled_is_open() -> None:
    wide = Interval(0.05, -0.2, 0.3, (3, 3), "")
    assert {beside(e, "shift", wide) for e in ("amplify", "equalise")} == {"open"}
    assert beside("null", "shift", wide) == "not as expected"
    assert beside("amplify", "equalise", wide) == "not as expected"
    assert beside("null", "inconclusive", wide) == "open"


def test_names_in_findings_are_escaped() -> None:
    found = {
        task: replace(f, refused=NASTY, smaller={NASTY: NASTY}) for task, f in proofs().items()
    }
    made = page(
        Statistics(matrix(3, 0, FEW.query("environment == 'MysteryPath-Grid'"))), proofs=found
    )
    assert "<img" not in made


def test_it_says_what_is_there(small: str) -> None:
    assert "All 144 runs are finished." in small
    assert "<dt>suite</dt><dd>small</dd>" in small


def test_it_is_self_contained(small: str) -> None:
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", small)
    assert "@import" not in small
    assert "url(" not in small


def test_names_are_escaped_everywhere() -> None:
    runs = matrix(3, 12, FEW.query("environment == 'MysteryPath-Grid' and reward == 'sparse'"))
    for column in ("environment", "architecture", "bonus"):
        frames = [f.copy() for f in (runs.runs, runs.evaluations)]
        frames[0]["run"] = NASTY
        for frame in frames:
            changed = frame[column].isin(["MysteryPath-Grid", "GRU", "noveld"])
            frame[column] = frame[column].where(~changed, NASTY)
        made = page(
            Statistics(Results.from_frames(*frames)),
            title=NASTY,
            notes=[NASTY],
            configuration={NASTY: NASTY, "store": NASTY},
        )
        assert "<img" not in made
        assert made.count("<script") == 2  # the data and the program
        data = re.search(r'id="data">(.*?)</script>', made, re.DOTALL)
        assert data is not None
        assert json.loads(data.group(1))["tasks"]


def test_agreement_is_by_interval() -> None:
    same = compare_with_published(published())
    assert len(same) == 36
    assert {c.agreement for c in same} == {"agrees"}
    runs = published().runs
    moved = Results.from_frames(runs.assign(tail_mean=(runs["tail_mean"] * 0.7)))
    verdicts = {c.arm: c.agreement for c in compare_with_published(moved)}
    assert verdicts["MysteryPath-Grid", "sparse", "RetNet", "e3b"] == "differs"
    assert verdicts["MysteryPath-Grid", "sparse", "Memoryless", "e3b"] == "agrees"
    assert all(c.agreement == "agrees" for c in compare(moved, moved))
    made = page(
        Statistics(moved), compared=compare(moved, published()), compared_with="another store"
    )
    assert "Beside another store" in made
    assert "MysteryPath-Grid / sparse / RetNet / e3b</b>: ours .39, theirs .56" in made


def test_suites_that_do_not_match_are_explained() -> None:
    other = Results.from_frames(partial("no change").assign(environment="elsewhere"))
    with pytest.raises(BadInput, match="the suites do not match: no arm is both here and in the"):
        compare(other, published())
    with pytest.raises(BadInput, match="for example MysteryPath-Grid / sparse / GRU / none"):
        compare_with_published(other)


def partial(change: str) -> pd.DataFrame:
    runs = published().runs.query("environment == 'MysteryPath-Grid'").copy()
    if change == "one seed":
        return runs.query("seed == 0")
    if change == "all equal":
        return runs.assign(tail_mean=0.5)
    if change == "nothing finished":
        return runs.assign(status="running", tail_mean=np.nan)
    if change == "no bonus":
        return runs.query("bonus == 'none'")
    if change == "one architecture":
        return runs.query("architecture == 'GRU'")
    if change == "no control arm":
        return runs.query("bonus != 'none'")
    if change == "ragged":
        return runs.drop(index=runs.index[::3])
    if change == "no change":
        return runs
    lost = runs["seed"] > 6
    return runs.assign(
        status=np.where(lost, "diverged", "finished"),
        tail_mean=runs["tail_mean"].where(~lost),
    )


@pytest.mark.parametrize(
    "change",
    ["one seed", "all equal", "nothing finished", "no bonus", "one architecture",
     "no control arm", "ragged", "diverged"],
)  # fmt: skip
def test_a_partial_store_still_gives_a_page(change: str) -> None:
    made = page(Statistics(Results.from_frames(partial(change))))
    assert made.rstrip().endswith("</html>")
    assert "nan" not in re.sub(r"<[^>]*>", " ", made).lower().split()
    if change == "nothing finished":
        assert "0 of 180 runs are finished; 180 running." in made
        assert "There is no answer yet" in made
    if change == "diverged":
        assert "54 diverged" in made
        assert "… and 14 more" in made


PROBE = """<script>
const out = { errors: window.__errors };
document.querySelectorAll("details").forEach((d) => { d.open = true; });
const dot = document.querySelector(".arms circle");
dot.dispatchEvent(new MouseEvent("click", { bubbles: true }));
out.card = document.getElementById("seed").innerText;
dot.ownerSVGElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
out.next = document.getElementById("seed").innerText;
const table = document.querySelector("#tables table.data");
const grouped = document.querySelector("#table-gains");
const rows = (body) => [...body.rows].slice(1).map((r) => r.cells[0].textContent);
const groups = [...grouped.tBodies].filter((b) => b.rows.length).map((b) => rows(b).sort().join());
grouped.tHead.querySelector("button").click();
out.together = [...grouped.tBodies].filter((b) => b.rows.length)
  .every((b, i) => rows(b).sort().join() === groups[i]);
const button = table.tHead.rows[table.tHead.rows.length - 1].cells[1].querySelector("button");
const column = () => [...table.tBodies[0].rows].map((r) => Number(r.cells[1].dataset.value));
button.click(); out.up = column();
button.focus(); out.focused = document.activeElement === button;
button.click(); out.down = column();
out.sorted = button.parentElement.getAttribute("aria-sort");
const panels = () => document.querySelectorAll("#panels figure").length;
out.panels = panels();
document.querySelector("#architectures input").click(); out.fewer = panels();
const lines = () => document.querySelectorAll("#panels .line").length;
out.lines = lines();
document.querySelector("#bonuses input").click(); out.fewerLines = lines();
const select = document.getElementById("task"); select.selectedIndex = 1;
const before = document.getElementById("panels").innerHTML;
select.dispatchEvent(new Event("change", { bubbles: true }));
out.redrawn = document.getElementById("panels").innerHTML !== before;
const reachable = "a[href], button, input, select, summary";
out.unreachable = [...document.querySelectorAll(reachable)].filter((e) => e.tabIndex < 0).length;
out.loaded = performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd;
out.resources = performance.getEntriesByType("resource").length;
const pre = document.createElement("pre");
pre.id = "probe"; pre.textContent = JSON.stringify(out);
document.body.append(pre);
</script>"""
MEASURE = """<pre id="probe"></pre><script>
addEventListener("load", () => {
  const page = document.querySelector("iframe").contentDocument;
  page.querySelectorAll("details").forEach((d) => { d.open = true; });
  const { clientWidth: inside, scrollWidth: needed } = page.documentElement;
  document.getElementById("probe").textContent = JSON.stringify({ inside, needed });
});
</script>"""
WATCH = "<script>window.__errors=[];window.onerror=(m)=>{window.__errors.push(String(m))}</script>"


def browse(path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM
    profile = path.parent / "profile"
    return subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={profile}", *flags, path.as_uri()],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip


def probe(done: subprocess.CompletedProcess[str]) -> dict:
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None
    return json.loads(html.unescape(found.group(1)))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_in_a_real_browser(small: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    page_with_probe = small.replace("<head>", "<head>" + WATCH).replace(
        "</body>", PROBE + "</body>"
    )
    path.write_text(page_with_probe, encoding="utf-8")
    done = browse(path, "--dump-dom")
    assert "CONSOLE" not in done.stderr, done.stderr
    out = probe(done)
    assert out["errors"] == []
    assert out["up"] == sorted(out["up"])
    assert out["down"] == sorted(out["up"], reverse=True)
    assert out["sorted"] == "descending"
    assert out["together"]  # a task's rows stay with their task
    assert out["focused"]
    assert out["unreachable"] == 0
    assert (out["panels"], out["fewer"]) == (6, 5)
    assert (out["lines"], out["fewerLines"]) == (15, 10)
    assert out["redrawn"]
    assert out["resources"] == 0
    assert "GRU, none, seed 0" in out["card"]
    assert f"clew show {RUN}0 --store 'my results'" in out["card"]
    assert "GRU, none, seed 1" in out["next"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [400, 1280, 1920])
def test_nothing_is_wider_than_the_window(small: str, tmp_path: Path, width: int) -> None:
    path = tmp_path / "report.html"
    frame = f'<iframe style="border:0;width:{width}px" srcdoc="{html.escape(small)}"></iframe>'
    path.write_text(frame + MEASURE, encoding="utf-8")
    out = probe(browse(path, "--dump-dom"))
    assert out["needed"] == out["inside"] > width - 20  # but for a scroll bar


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_it_prints(small: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(small, encoding="utf-8")
    browse(path, f"--print-to-pdf={tmp_path / 'report.pdf'}")
    pdf = (tmp_path / "report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 40


@pytest.mark.slow
def test_the_whole_matrix_stays_small(tmp_path: Path) -> None:
    made = matrix(evaluations=244)
    name = "mysterypath-grid-sparse-gateddeltanet-noveld-s3-1f2e3d4c"
    whole = Results.from_frames(made.runs.assign(run=name), made.evaluations, made.rollouts)
    path = write_report(
        Statistics(whole), tmp_path / "report.html", compared=compare_with_published(whole)
    )
    assert path.stat().st_size < 3e6
    if CHROMIUM:
        probed = path.read_text().replace("</body>", PROBE + "</body>")
        path.write_text(probed.replace("<head>", "<head>" + WATCH))
        out = probe(browse(path, "--dump-dom"))
        assert out["loaded"] < 2000
