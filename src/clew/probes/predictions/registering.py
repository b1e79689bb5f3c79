"""The register: predictions in a store, each registration a sealed file that names the one before.

A changed word is another seal; a registration that was altered, taken out or put in between breaks
the chain, and `Register.problems` says where. Taking the last ones off the end, or writing all of
them anew, leaves no trace here: for that, publish the hash.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.probes.predictions.claims import Prediction
from clew.suite.store import CannotRead, Damaged, Store, digest
from clew.suite.store.documents import read_any, write_document
from clew.suite.store.seal import Seal
from clew.validate import BadInput

FOLDER = "predictions"


@dataclass(frozen=True)
class Registration:
    """Predictions, and when they were made."""

    number: int
    predictions: tuple[Prediction, ...]
    registered: str
    """ISO 8601, in UTC."""
    previous: str
    """Hash of the registration before this one; empty for the first."""
    first_result: str
    """When the earliest result that they are about had been made; empty if there was none."""

    @property
    def seal(self) -> str:
        """SHA-256 of the predictions, whenever they are registered."""
        return digest([each.to_json() for each in self.predictions])

    @property
    def hash(self) -> str:
        """SHA-256 of the predictions, the time and the registration before: what to publish."""
        return digest(self.to_json())

    @property
    def late(self) -> bool:
        """Whether there were results already."""
        return bool(self.first_result) and moment(self.first_result) <= moment(self.registered)

    def to_json(self) -> dict[str, Any]:
        """What is stored."""
        predictions = [each.to_json() for each in self.predictions]
        return {**vars(self), "predictions": predictions}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Registration:
        """The inverse of `to_json`."""
        predictions = tuple(Prediction.from_json(each) for each in data["predictions"])
        made = cls(**{**data, "predictions": predictions})
        moment(made.registered)
        return made


@dataclass(frozen=True)
class Register:
    """All registrations of a store, in order."""

    registrations: tuple[Registration, ...] = ()
    problems: tuple[str, ...] = ()
    """What shows that a file was altered, lost or put in later."""


def register(
    store: Store, predictions: Sequence[Prediction], *, first_result: str = "", now: str = ""
) -> Registration:
    """Write predictions to the store; those that are there already keep their first time.

    `first_result` is when the earliest probe result was made that they are about, if there is any
    (`first_about` finds it).
    """
    if store.read_only:
        raise BadInput("the store is read-only; predictions are registered in one that is not")
    names = [each.name for each in predictions]
    if not names or len(set(names)) < len(names):
        raise BadInput(f"predictions={names} is not valid; each must have a name of its own")
    if first_result:
        moment(first_result)
    while True:
        number = _next(store.root / FOLDER)  # before reading: what comes between takes this name
        known = read_register(store).registrations
        made = Registration(
            number=number,
            predictions=tuple(predictions),
            registered=moment(now).isoformat() if now else clock(),
            previous=known[-1].hash if known else "",
            first_result=first_result,
        )
        same = [each for each in known if each.seal == made.seal]
        if same:
            return same[0]
        try:
            path = store.root / FOLDER / _name(made.number)
            write_document(path, Seal("predictions", made.seal), made.to_json(), overwrite=False)
            return made
        except FileExistsError:
            continue  # somebody else was faster: theirs is the one before


def read_register(store: Store) -> Register:
    """Every sound registration, and what is wrong with the rest."""
    found: list[Registration] = []
    problems = []
    for number in range(1, _next(store.root / FOLDER)):
        try:
            one = _read(store.root / FOLDER / _name(number))
        except FileNotFoundError:
            problems.append(f"registration {number} is missing")
            continue
        except Damaged as damage:
            problems.append(f"registration {number} {damage.reason}")
            continue
        except CannotRead as error:
            problems.append(f"registration {number}: {error}")
            continue
        problems += _broken(number, one, found[-1] if found else None)
        found.append(one)
    return Register(tuple(found), tuple(problems))


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
    try:
        one = Registration.from_json(data)
    except (BadInput, TypeError, KeyError) as error:
        raise Damaged(path, f"is not a registration ({error})") from None
    Seal("predictions", one.seal).expect(path, seal)
    return one


def _broken(number: int, one: Registration, before: Registration | None) -> list[str]:
    problems = []
    if one.number != number:
        problems.append(f"registration {number} was once number {one.number}")
    if one.previous != (before.hash if before else ""):
        problems.append(f"registration {number} does not follow the one before it")
    if before and moment(one.registered) < moment(before.registered):
        problems.append(f"registration {number} is dated before the one before it")
    return problems


def _next(folder: Path) -> int:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return 1
    except OSError as error:
        raise CannotRead(folder, error) from error
    stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
    return 1 + max((int(stem) for stem in stems if stem.isdecimal()), default=0)


def _name(number: int) -> str:
    return f"{number:04d}.json"
