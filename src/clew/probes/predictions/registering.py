"""The register: predictions in a store, each registration a sealed file that names the one before.

A changed word is another seal; a registration that was altered, taken out or put in between breaks
the chain, and `Register.problems` says where. Taking the last ones off the end, or writing all of
them anew, leaves no trace here: for that, publish the hash.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.probes.predictions.claims import Prediction
from clew.store import CannotRead, Damaged, Store, digest
from clew.store.documents import Header, read_any, write_document
from clew.validate import BadInput

FOLDER = "predictions"
FORMAT = 1
"""Of a registration; one in another is told apart from one that was damaged."""
MAIN = ""
"""The chain that this store goes on with; others were brought by a merge, in folders of theirs."""


@dataclass(frozen=True)
class Registration:
    """Predictions, and when they were made."""

    number: int
    predictions: tuple[Prediction, ...]
    registered: str
    """ISO 8601, in UTC."""
    previous: str
    """Hash of the registration before this one; empty for the first."""
    first_results: Mapping[str, str]
    """By name of a prediction, when the earliest result that it is about had been made; those are
    left out about which there was none."""

    @property
    def seal(self) -> str:
        """SHA-256 of the predictions, whenever they are registered."""
        return digest([each.to_json() for each in self.predictions])

    @property
    def hash(self) -> str:
        """SHA-256 of the predictions, the time and the registration before: what to publish."""
        return digest(self.to_json())

    @property
    def late(self) -> tuple[str, ...]:
        """Names of those about which there were results already."""
        when = moment(self.registered)
        return tuple(name for name, time in self.first_results.items() if moment(time) <= when)

    def to_json(self) -> dict[str, Any]:
        """What is stored."""
        predictions = [each.to_json() for each in self.predictions]
        return {**vars(self), "predictions": predictions, "format": FORMAT}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Registration:
        """The inverse of `to_json`."""
        predictions = tuple(Prediction.from_json(each) for each in data["predictions"])
        fields = {name: value for name, value in data.items() if name != "format"}
        made = cls(**{**fields, "predictions": predictions})
        moment(made.registered)
        return made


@dataclass(frozen=True)
class Register:
    """All registrations of a store, in order."""

    registrations: tuple[Registration, ...] = ()
    problems: tuple[str, ...] = ()
    """What shows that a file was altered, lost or put in later, or cannot be read."""
    last: str = ""
    """Of one chain, the hash that the next registration names."""


class OtherFormat(Exception):  # noqa: N818 (a finding about a file)
    """A sound registration that another version of Clew has written."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(
            f"is whole, but in another format ({data.get('format')!r}) than this version of Clew "
            f"reads ({FORMAT})"
        )
        self.hash = digest(data)


def register(
    store: Store,
    predictions: Sequence[Prediction],
    *,
    first_results: Mapping[str, str] | None = None,
    now: str = "",
) -> Registration:
    """Write predictions to the store; those that are there already keep their first time.

    `first_results` says when the earliest results were made that they are about, by name
    (`first_about` finds them).
    """
    firsts = dict(first_results or {})
    if store.read_only:
        raise BadInput("the store is read-only; predictions are registered in one that is not")
    names = [each.name for each in predictions]
    if not names or len(set(names)) < len(names):
        raise BadInput(f"predictions={names} is not valid; each must have a name of its own")
    for each in firsts.values():
        moment(each)
    while True:
        number = _next(store.root / FOLDER)  # before reading: what comes between takes this name
        made = Registration(
            number=number,
            predictions=tuple(predictions),
            registered=moment(now).isoformat() if now else clock(),
            previous=_chain(store.root / FOLDER).last,
            first_results=firsts,
        )
        same = [each for each in read_register(store).registrations if each.seal == made.seal]
        if same:
            return same[0]
        try:
            write_registration(store, MAIN, made)
            return made
        except FileExistsError:
            continue  # somebody else was faster: theirs is the one before


def read_register(store: Store) -> Register:
    """Every sound registration, by time, and what is wrong with the rest."""
    found = chains(store)
    once = {one.hash: one for chain in found.values() for one in chain.registrations}
    order = sorted(once.values(), key=lambda one: moment(one.registered))
    return Register(tuple(order), tuple(p for chain in found.values() for p in chain.problems))


def chains(store: Store) -> dict[str, Register]:
    """By the name of their folder, registrations that follow each other; our own first."""
    folder = store.root / FOLDER
    brought = sorted(name for name in _listed(folder) if (folder / name).is_dir())
    return {name: _chain(folder / name) for name in (MAIN, *brought)}


def write_registration(store: Store, chain: str, one: Registration) -> None:
    """Put a registration at its place in a chain; `FileExistsError` if something is there."""
    path = store.root / FOLDER / chain / file_name(one)
    write_document(path, Header("predictions", one.seal), one.to_json(), overwrite=False)


def file_name(one: Registration) -> str:
    """Within its chain."""
    return _name(one.number)


def _chain(folder: Path) -> Register:
    found: list[Registration] = []
    problems = []
    last = ""
    for number in range(1, _next(folder)):
        try:
            one = _read(folder / _name(number))
        except FileNotFoundError:
            problems.append(f"registration {number} is missing")
        except Damaged as damage:
            problems.append(f"registration {number} {damage.reason}")
        except CannotRead as error:
            problems.append(f"registration {number}: {error}")
        except OtherFormat as other:
            problems.append(f"registration {number} {other}")
            last = other.hash
        else:
            problems += _broken(number, one, last, found[-1] if found else None)
            found.append(one)
            last = one.hash
    return Register(tuple(found), tuple(problems), last)


def clock() -> str:
    """Now, as registrations and results should be dated: ISO 8601 in UTC, with microseconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def moment(text: str) -> datetime.datetime:
    """A time, in UTC; one that does not say its zone is refused."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        time = datetime.datetime.min
    if time.tzinfo is None:
        raise BadInput(f"time={text!r} is not valid; it must be like 2026-01-31T12:00:00+00:00")
    return time.astimezone(datetime.UTC)


def _read(path: Path) -> Registration:
    seal, data = read_any(path)
    if isinstance(data, dict) and data.get("format") != FORMAT:
        raise OtherFormat(data)
    try:
        one = Registration.from_json(data)
    except (BadInput, TypeError, KeyError) as error:
        raise Damaged(path, f"is not a registration ({error})") from None
    Header("predictions", one.seal).expect(path, seal)
    return one


def _broken(
    number: int, one: Registration, previous: str, before: Registration | None
) -> list[str]:
    problems = []
    if one.number != number:
        problems.append(f"registration {number} was once number {one.number}")
    if one.previous != previous:
        problems.append(f"registration {number} does not follow the one before it")
    if before and moment(one.registered) < moment(before.registered):
        problems.append(f"registration {number} is dated before the one before it")
    return problems


def _next(folder: Path) -> int:
    stems = [name.removesuffix(".json") for name in _listed(folder) if name.endswith(".json")]
    return 1 + max((int(stem) for stem in stems if stem.isdecimal()), default=0)


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CannotRead(folder, error) from error


def _name(number: int) -> str:
    return f"{number:04d}.json"
