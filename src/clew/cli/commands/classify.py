"""`clew classify`: what does this reward supervise?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from json import dumps, loads
from pathlib import Path
from textwrap import fill

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from clew import envs
from clew.cli.classification_text import (
    about_bonus,
    about_contrast,
    about_machine,
    about_profile,
    about_verdict,
    diagnosis_words,
    headline,
)
from clew.cli.output import console_for, json_alone
from clew.cli.parsing import Subject
from clew.cli.registry import register
from clew.envs.registry import hosted
from clew.machines import Labelling, Pomdp, PomdpRM, RewardMachine, examine, from_env, gallery
from clew.machines import classify as decide
from clew.machines.deciding.classify import POSTERIORS, Classification, notes, summary
from clew.machines.deciding.contrasts import Contrast, confused, contrasts
from clew.machines.deciding.examine import Examination, machine_summary
from clew.machines.draw import STRIPS, draw_histories, to_file
from clew.machines.formats import read
from clew.machines.formats.text import Limits, ParseError
from clew.machines.model.ends import with_end
from clew.machines.model.pomdp import End
from clew.validate import BadInput, hint, listing, one_of, printable

DRAWN = 60
"""States, at most, of a machine that is drawn."""
GRAPHS = (".svg", ".pdf", ".dot")
"""The endings of drawings of the machine; histories have those of `STRIPS`."""


@register("classify")
def classify(
    what: Subject,
    /,
    options: tuple[str, ...] = (),
    limit: int = POSTERIORS,
    json: bool = False,
    draw: tuple[Path, ...] = (),
    machine: Path | None = None,
    end: End = "stops",
    renormalise: bool = False,
) -> None:
    """Decide what a reward forces memory to keep, and what a bonus is expected to do.

    Args:
        what: A file (.POMDP, .json), a POMDP of the gallery, a world of `clew.envs`, or a Gymnasium
            environment: gymnasium:ID, or module:function for a function that returns one.
        options: Options of the POMDP, world or environment, as NAME=VALUE, a list as
            "NAME=[0, 1]"; a world and an environment also have reward= and discount=; a world has
            draws= (how often levels are drawn, where there are too many to take all), and an
            environment state=, seeds=, wrappers=, keys= and knowledge=.
        limit: Most posteriors to enumerate; a belief filter with more counts as not finite.
        json: Print one JSON object instead of words, with exact fractions.
        draw: Files for pictures. .png: the pairs of histories that the answer names, as strips of
            pictures; .gif: the same as a film; .svg, .pdf, .dot: the machine that the answer
            rests on.
        end: What holds once an episode is over. stops: the step that ends it pays last, and every
            machine pays nothing afterwards. absorbing: terminal states are states like any other,
            where machines may still pay. hidden: the same, and the end cannot be seen.
        renormalise: Divide the probabilities of a file by their sum where that is off by rounding.
        machine: Check a reward machine of your own (.txt, .json): does it encode the reward, is it
            perfect, which histories does it confuse?
    """
    for file in draw:
        one_of("draw's ending", file.suffix.lower(), (*STRIPS, *GRAPHS))
    with json_alone(json):  # an environment may print
        model = load(what, dict(_pair(text) for text in options), renormalise)
    if isinstance(model, RewardMachine):
        raise BadInput(f"{what!r} holds a machine without a POMDP: there is nothing to classify")
    model = under(model, end)
    if machine is not None:
        model = _with_machine(model, machine)
    pomdp = model.pomdp if isinstance(model, PomdpRM) else model
    examined = examine(model) if isinstance(model, PomdpRM) else None
    answer = decide(pomdp, limit)
    if json:
        about = {"machine": machine_summary(examined)} if examined else {}
        print(dumps({**summary(answer), **about}, ensure_ascii=False, indent=2))
    else:
        report(console_for(), answer, examined, trainable=hosted(what) or what in envs.names())
    for file in draw:
        if file.suffix.lower() in STRIPS:
            own = confused(examined) if examined else []
            draw_histories(answer, [*own, *contrasts(answer)], file)
        else:
            _draw(file, model.machine if isinstance(model, PomdpRM) else None, answer)
        _say(console_for(json), f"written: {file}")


def under(model: Pomdp | PomdpRM, end: End) -> Pomdp | PomdpRM:
    """The model under a convention of the end."""
    if isinstance(model, Pomdp):
        return with_end(model, end)
    return replace(model, pomdp=with_end(model.pomdp, end))


def load(
    what: str, options: dict[str, object], renormalise: bool = False
) -> Pomdp | PomdpRM | RewardMachine:
    """A model by file, by name in the gallery, or by the name of a world."""
    if Path(what).is_file():
        if options:
            raise BadInput(f"{what!r} is a file, which has no options; leave out --options")
        try:
            model = read(what, Limits(renormalise=renormalise))
        except ParseError as error:
            raise BadInput(f"{what}, {error}") from None
        if renormalise and Path(what).suffix.lower() != ".pomdp":
            raise BadInput(f"--renormalise is for .POMDP files; {what!r} is not one")
        return model
    if renormalise:
        raise BadInput(f"--renormalise is for files; {what!r} is not one")
    if what in gallery.names():
        return gallery.make(what, **options)
    if hosted(what):
        return from_env(what, None, **options)
    if what in envs.names():
        named = {key: str(options.pop(key)) for key in ("reward", "discount") if key in options}
        drawn = {"draws": options.pop("draws")} if "draws" in options else {}
        return from_env(envs.make(what, **options), None, **named, **drawn)
    valid = [*gallery.names(), *envs.names()]
    raise BadInput(
        f"{what!r} is neither a file nor a name; choose {listing(valid)}, or gymnasium:ID "
        f"or module:function{hint(what, valid)}"
    )


def _with_machine(model: Pomdp | PomdpRM, path: Path) -> PomdpRM:
    if isinstance(model, PomdpRM):
        raise BadInput("this file already has a machine; --machine needs a task without one")
    machine = read(path)
    if not isinstance(machine, RewardMachine):
        raise BadInput(f"{str(path)!r} is not a reward machine; --machine needs a file with one")
    return PomdpRM(model, Labelling.by_name(model, sorted(machine.propositions)), machine)


def report(
    console: Console,
    answer: Classification,
    examined: Examination | None = None,
    *,
    trainable: bool = False,
) -> None:
    """The answers in words; of what can be trained on, also how an experiment is made."""
    if examined:
        for line in about_machine(examined):
            _say(console, line)
        _histories(console, answer, confused(examined))
        _say(console)
    pomdp = answer.pomdp
    _say(console, headline(answer), "bold")
    _say(console, about_bonus(answer))
    if trainable and answer.diagnosis.certainty != "a theorem":
        _say(console, "(To try it, edit what `clew new suite NAME` writes, and `clew run` it.)")
    _say(console)
    _say(
        console,
        f"{pomdp.name}: {len(pomdp.states):,} states, {len(pomdp.actions)} actions, "
        f"{len(pomdp.observations)} observations, γ = {pomdp.discount}. What a perfect memory can "
        f"know of the state: {answer.beliefs}.",
    )
    for note in notes(pomdp):
        _say(console, note, "dim")
    _say(console)
    for line in about_verdict(answer):
        _say(console, line)
    _histories(console, answer, contrasts(answer))
    if answer.profile is not None:
        _say(console)
        if answer.profile.total.pairs:
            console.print(_table(answer))
        for line in about_profile(answer):
            _say(console, line)
    _say(console)
    for line in diagnosis_words(answer):
        _say(console, line)


def _histories(console: Console, answer: Classification, pairs: Sequence[Contrast]) -> None:
    for pair in pairs:
        for line in about_contrast(answer, pair):
            _say(console, line)
    if pairs:
        _say(console, "(--draw FILE.png draws these histories)", "dim")


def _say(console: Console, line: str = "", style: str = "") -> None:
    """A line, wrapped; what begins with blanks stays to the right."""
    indent = " " * (len(line) - len(line.lstrip()))
    wrapped = fill(
        printable(line.strip()),
        console.width,
        initial_indent=indent,
        subsequent_indent=2 * indent,
        break_on_hyphens=False,
    )
    console.print(Text(wrapped, style), highlight=False, soft_wrap=True)


COLUMNS = ("pairs", "told apart at once", "supervised", "required", "both", "pooled")
EXPLAINED = (
    "told apart at once: the next step differs; supervised: every encoder keeps them apart; "
    "required: no action is best for both; both: supervised and required; pooled: the machine "
    "above confuses them"
)


def _table(answer: Classification) -> Table:
    assert answer.profile is not None
    table = Table(
        title="Pairs of situations that look the same", caption=EXPLAINED, caption_justify="left"
    )
    table.add_column("differ")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    rows = {"in anything": answer.profile.total}
    rows |= {f"only in {name}": tally for name, tally in answer.profile.variables.items()}
    for name, tally in rows.items():
        if tally.pairs:
            table.add_row(
                escape(printable(name)), *(f"{count:,}" for count in vars(tally).values())
            )
    return table


def _draw(path: Path, given: RewardMachine | None, answer: Classification) -> None:
    machine = given or (answer.encoder.machine if answer.encoder else None)
    if machine is None:
        raise BadInput("there is no machine to draw: the answer does not rest on one")
    if len(machine.states) > DRAWN:
        raise BadInput(f"the machine has {len(machine.states):,} states; at most {DRAWN} are drawn")
    to_file(machine, path)


def _pair(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"option {text!r} is not valid; write NAME=VALUE")
    plain = {"true": True, "false": False}
    if value.lower() in plain:
        return name, plain[value.lower()]
    try:
        return name, loads(value) if value.startswith("[") else int(value)
    except ValueError:
        return name, value
