"""`clew report paper`: how far the published study was reproduced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console

from clew.cli.output import say
from clew.cli.results_source import require_extra
from clew.store.atomic import write
from clew.store.names import ARM
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.analysis.report.comparison import ArmSummary
    from clew.analysis.reproduction import TrainedArm, UnderReading

WithReading = TypeVar("WithReading", "TrainedArm", "UnderReading")
PICTURES, PAGES = (".png", ".svg", ".pdf"), (".md", ".html")
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>The study again</title>
<style>body{font:15px sans-serif;margin:2em}table{border-collapse:collapse;margin:2em 0}
td,th{padding:.2em .7em;text-align:left;border-bottom:1px solid #ddd}</style>"""


def show_reproduction(console: Console, out: Path | None) -> None:
    """Print the claims and the arms; write all tables, or the picture, to `out`."""
    require_extra("the reproduction")
    from clew.analysis.figures.reproduction import reproduction
    from clew.analysis.reproduction import overview, read_trained, results_folder, tables
    from clew.analysis.tables.grid import FORMATS

    suffix = out.suffix.lower() if out else ""
    if out and suffix not in (*PICTURES, *PAGES):
        known = ", ".join((*PAGES, *PICTURES))
        raise BadInput(f"--out {str(out)!r} is none of {known}; `clew report paper` writes those")
    trained = read_trained(results_folder())
    for line in (*_claims_and_arms(trained), *_predictions(), *_where_more_is(trained)):
        say(console, line)
    if out is None:
        return
    if suffix in PICTURES:
        figure = reproduction(trained)
        write(out, lambda file: figure.savefig(file, format=suffix[1:]))
    else:
        grids = [FORMATS[suffix[1:]](grid) for grid in tables(trained)]
        lines = [*overview(trained), *_predictions()]
        if suffix == ".html":
            lines = [PAGE, *(f"<p>{escape(line)}</p>" for line in lines)]
        text = "\n".join([*lines, "", *grids])
        write(out, lambda file: file.write(text.encode()))
    say(console, f"written: {out}")


def _claims_and_arms(trained: Sequence[TrainedArm]) -> Iterator[str]:
    """What came out, every claim, and every arm that was trained to the end."""
    from clew.analysis import formatting
    from clew.analysis.names import bonus_label, task_label
    from clew.analysis.report.comparison import published_summaries
    from clew.analysis.reproduction import CLAIMS, compared, judge, overview, pace, together

    published = published_summaries()
    yield from overview(trained)
    yield "\nClaims, as differences in success [95%]"
    for claim in CLAIMS:
        found = judge(claim, trained, published)
        yield f"{claim.says}: {found.in_words}"
        yield f"    published {formatting.estimate(found.published, plus=True)}"
        for each in _suites_or_all(found.found):
            gap = formatting.estimate(each.difference, plus=True)
            seeds = formatting.seeds(each.difference.n)
            when = f"{each.steps / 1e6:.1f} M steps ({each.share:.0%}), {seeds}"
            yield f"    ours      {gap} after {when}: {each.reading}"
    yield "\nArms that were trained to the end: ours and published, mean ± std over seeds"
    whole = [each for each in trained if each.whole]
    name = {
        arm: f"{task_label(*arm[:2])}, {arm[2]}, {bonus_label(arm[3])}"
        for arm in (*published, *(each.arm for each in whole))
    }
    width = max(len(name[each.arm]) for each in whole)
    for arm in published:
        for each in _suites_or_all([each for each in whole if each.arm == arm]):
            result = compared(each, published)
            both = f"{_mean_std(result.ours)}  {_mean_std(result.theirs)}"
            yield f"{name[arm]:{width}} {both}  {result.agreement:8} {each.reading}"
    if sums := together(trained, published):
        yield "\nThe same over the rewards of a world: ours minus published, mean of them [95%]"
    for (world, memory, bonus), (n, gap) in sums.items():
        arms = f"{world}, {memory}, {bonus_label(bonus)}"
        yield f"{arms:43} {formatting.estimate(gap, 3, plus=True)} over {n} rewards"
    yield "\nPace: million steps until success is held over five evaluations (seeds that did)"
    for title, rows in pace(trained).sections:
        for memory, bonus, ours, theirs in rows:
            arm = f"{title}, {memory.text}, {bonus.text}"
            yield f"{arm:43} {ours.text:12} published {theirs.text}"
    if controls := [each for each in whole if each.arm not in published]:
        yield "\nControls that the paper does not have (Given: told what a memory should hold)"
        for each in controls:
            yield f"{name[each.arm]:{width}} {_mean_std(each.summary())}  {each.reading}"


def _suites_or_all(found: Sequence[WithReading]) -> Sequence[WithReading]:
    """What was trained as the suite `paper` has it; if nothing was, all other readings."""
    return [each for each in found if each.reading.of_suite] or found


def _predictions() -> Iterator[str]:
    """What the study predicted of probes, how that came out for it, and how here."""
    from clew.analysis.reproduction import results_folder
    from clew.probes.reproduction import PUBLISHED, evaluate_again, read_measurements

    found = {name: one for name, one in read_measurements(results_folder()).items() if one}
    if not found:
        return
    agents = (
        f"{len({tuple(one.fields[name] for name in (*ARM, 'seed')) for one in measured})} ({name})"
        for name, measured in found.items()
    )
    yield (
        "\nPredictions about what can be decoded from memories (AUC of linear probes); "
        f"agents probed: {', '.join(agents)}"
    )
    for outcomes in zip(*map(evaluate_again, found.values()), strict=True):
        prediction = outcomes[0].prediction
        yield f"{prediction.name}, {prediction.statement}"
        yield f"    published {PUBLISHED[prediction.name]}"
        for name, outcome in zip(found, outcomes, strict=True):
            yield f"    ours      {outcome.verdict.upper()}, {outcome.reason}: {name}"


def _where_more_is(trained: Sequence[TrainedArm]) -> Iterator[str]:
    from clew.analysis.reproduction.trained import DETAILS, DETAILS_OPTIONS

    yield (
        "\nWhere an arm was not trained as in suite paper, all other readings of it are printed; "
        "they have γ and λ as the paper prints them, and 'defaults' is Clew's own, with the goal "
        f"hidden. {DETAILS}: {DETAILS_OPTIONS}, of E3B. MPG: MysteryPath-Grid. "
        "More: docs/reproduction.md."
    )
    yield (
        f"clew report paper --out paper.md has all {len(trained)} arms and readings, also those "
        "that were stopped earlier; --out paper.png draws those with 85% of the steps"
    )


def _mean_std(summary: ArmSummary) -> str:
    from clew.analysis import formatting

    return f"{formatting.rate(summary.mean)} ± {formatting.rate(summary.std)}"
