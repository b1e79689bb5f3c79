"""`clew classify`: what does this reward supervise?"""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clew import envs
from clew.cli.classification_text import (
    about_machine,
    about_profile,
    about_verdict,
    diagnosis_words,
    headline,
)
from clew.cli.output import console_for
from clew.cli.parsing import Subject
from clew.cli.registry import register
from clew.envs.registry import hosted
from clew.machines import Labelling, Pomdp, PomdpRM, RewardMachine, examine, from_env, gallery
from clew.machines import classify as decide
from clew.machines.deciding.classify import POSTERIORS, Classification, notes, summary
from clew.machines.deciding.examine import machine_summary
from clew.machines.draw import FORMATS, to_file
from clew.machines.formats import read
from clew.machines.formats.text import Limits
from clew.machines.model.ends import with_end
from clew.machines.model.pomdp import End
from clew.validate import BadInput, hint, listing, one_of

DRAWN = 60


@register("classify")
def classify(
    what: Subject,
    /,
    options: tuple[str, ...] = (),
    limit: int = POSTERIORS,
    json: bool = False,
    draw: Path | None = None,
    machine: Path | None = None,
    end: End = "stops",
    renormalise: bool = False,
) -> None:
    """Decide what a reward forces memory to keep, and what a bonus is expected to do.

    Args:
        what: A file (.POMDP, .json), a POMDP of the gallery, or a world of `clew.envs`.
        options: Options of the POMDP or world, as NAME=VALUE; a world also has reward=, discount=.
        limit: Most posteriors to enumerate; a belief filter with more counts as not finite.
        json: Print one JSON object instead of words.
        draw: Write a picture of the machine that the answer rests on to this .svg, .pdf, .png or
            .dot file.
        end: What holds once an episode is over. stops: the step that ends it pays last, and every
            machine pays nothing afterwards. absorbing: terminal states are states like any other,
            where machines may still pay. hidden: the same, and the end cannot be seen.
        renormalise: Divide the probabilities of a file by their sum where that is off by rounding.
        machine: Check a reward machine of your own (.txt, .json): does it encode the reward, is it
            perfect, which histories does it confuse?
    """
    if draw is not None:
        one_of("draw's ending", draw.suffix.lower(), FORMATS)
    model = load(what, dict(_pair(text) for text in options), renormalise)
    if isinstance(model, RewardMachine):
        raise BadInput(f"{what!r} holds a machine without a POMDP: there is nothing to classify")
    model = under(model, end)
    if machine is not None:
        model = _with_machine(model, machine)
    pomdp = model.pomdp if isinstance(model, PomdpRM) else model
    examined = examine(model) if isinstance(model, PomdpRM) else None
    answer = decide(pomdp, limit)
    console = console_for()
    if json:
        about = {"machine": machine_summary(examined)} if examined else {}
        print(dumps({**summary(answer), **about}, ensure_ascii=False, indent=2))
    else:
        report(console, answer)
        for line in ("", *about_machine(examined)) if examined else ():
            console.print(escape(line), highlight=False)
    if draw is not None:
        _draw(draw, model.machine if isinstance(model, PomdpRM) else None, answer)


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
        model = read(what, Limits(renormalise=renormalise))
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
        return from_env(envs.make(what, **options), None, **named)
    valid = [*gallery.names(), *envs.names()]
    raise BadInput(
        f"{what!r} is neither a file nor a name; choose {listing(valid)}{hint(what, valid)}"
    )


def _with_machine(model: Pomdp | PomdpRM, path: Path) -> PomdpRM:
    if isinstance(model, PomdpRM):
        raise BadInput("this file already has a machine; --machine needs a task without one")
    machine = read(path)
    if not isinstance(machine, RewardMachine):
        raise BadInput(f"{str(path)!r} is not a reward machine; --machine needs a file with one")
    return PomdpRM(model, Labelling.by_name(model, sorted(machine.propositions)), machine)


def report(console: Console, answer: Classification) -> None:
    """The answers in words."""
    pomdp = answer.pomdp
    console.print(f"[bold]{escape(pomdp.name)}[/bold]")
    console.print(escape(headline(answer)), highlight=False)
    console.print()
    console.print(
        f"{len(pomdp.states):,} states, {len(pomdp.actions)} actions, "
        f"{len(pomdp.observations)} observations, γ = {pomdp.discount}; {answer.beliefs}",
        highlight=False,
    )
    for note in notes(pomdp):
        console.print(f"[dim]{escape(note)}[/dim]", highlight=False)
    console.print()
    for line in about_verdict(answer):
        console.print(escape(line), highlight=False)
    if answer.profile is not None:
        console.print(_table(answer))
        for line in about_profile(answer):
            console.print(escape(line), highlight=False)
    console.print()
    for line in diagnosis_words(answer):
        console.print(escape(line), highlight=False)


def _table(answer: Classification) -> Table:
    assert answer.profile is not None
    table = Table(title="pairs of posteriors that look the same")
    table.add_column("differ")
    for column in ("pairs", "told apart at once", "supervised", "required", "both", "pooled"):
        table.add_column(column, justify="right")
    rows = {"in anything": answer.profile.total}
    rows |= {f"only in {name}": tally for name, tally in answer.profile.variables.items()}
    for name, tally in rows.items():
        table.add_row(escape(name), *(f"{count:,}" for count in vars(tally).values()))
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
        return name, int(value)
    except ValueError:
        return name, value
