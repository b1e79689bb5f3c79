"""Registered predictions: files of a store that name their predecessor, and so form a chain.

Any change gives another hash; a registration that was altered, removed or inserted breaks the
chain, and `Registrations.problems` says where. Removing the last ones, or writing all of them
again, leaves no trace here: for that, publish the hash.

Each registration names the one before it, so two chains cannot become one. When stores are merged,
a chain that only continues ours is appended to it; any other is kept whole, in its own folder.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.loading import load
from clew.probes.predictions.prediction import Prediction
from clew.store import CannotRead, Damaged, Store, digest
from clew.store.canonical import JsonObject
from clew.store.documents import Header, names_in, read_any, write_document
from clew.validate import BadInput

FOLDER = "predictions"
FORMAT = 1
"""Of a registration; a file in another format is told apart from a damaged one."""
MAIN = ""
"""The chain that this store continues; others came from merged stores, in folders of their own."""


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
    """By name of a prediction, when the first result that it is about was measured; without those
    that had none yet."""

    @property
    def file_name(self) -> str:
        """Within its chain."""
        return f"{self.number:04d}.json"

    @property
    def predictions_digest(self) -> str:
        """SHA-256 of the predictions, whenever they are registered."""
        return digest([one.to_json() for one in self.predictions])

    @property
    def header(self) -> Header:
        """Of its file."""
        return Header("predictions", self.predictions_digest)

    @property
    def hash(self) -> str:
        """SHA-256 of the predictions, the time and the registration before: what to publish."""
        return digest(self.to_json())

    @property
    def late(self) -> tuple[str, ...]:
        """Names of the predictions that came after a result they are about."""
        when = parse_time(self.registered)
        return tuple(name for name, time in self.first_results.items() if parse_time(time) <= when)

    def to_json(self) -> JsonObject:
        """What is stored."""
        predictions = [one.to_json() for one in self.predictions]
        return {**vars(self), "predictions": predictions, "format": FORMAT}

    @classmethod
    def from_json(cls, data: JsonObject) -> Registration:
        """The inverse of `to_json`."""
        fields = {name: value for name, value in data.items() if name != "format"}
        made = load(fields, cls, "registration")
        parse_time(made.registered)
        return made


@dataclass(frozen=True)
class Registrations:
    """All registrations of a store, or of one chain, in order."""

    registrations: tuple[Registration, ...] = ()
    problems: tuple[str, ...] = ()
    """Signs that a file was altered, lost or inserted later, or that it cannot be read."""
    last_hash: str = ""
    """Of one chain: what the next registration names as its predecessor."""


def register_predictions(
    store: Store,
    predictions: Sequence[Prediction],
    *,
    first_results: Mapping[str, str] | None = None,
    now: str = "",
) -> Registration:
    """Write predictions to the store; those that are there already keep their first time.

    `first_results` says when the first results were measured that they are about, by name
    (`first_results_about` finds them).
    """
    firsts = dict(first_results or {})
    if store.read_only:
        raise BadInput("the store is read-only; predictions are registered in one that is not")
    names = [one.name for one in predictions]
    if not names or len(set(names)) < len(names):
        raise BadInput(f"predictions={names} is not valid; each must have a name of its own")
    for one in firsts.values():
        parse_time(one)
    while True:
        # before the chain is read: a registration made in between takes this number
        number = _next_number(store.root / FOLDER)
        made = Registration(
            number=number,
            predictions=tuple(predictions),
            registered=parse_time(now).isoformat() if now else utc_now(),
            previous=_read_chain(store.root / FOLDER).last_hash,
            first_results=firsts,
        )
        for one in read_registrations(store).registrations:
            if one.predictions_digest == made.predictions_digest:
                return one
        try:
            _write(store, MAIN, made)
            return made
        except FileExistsError:
            continue  # another process was faster: its registration is the predecessor


def read_registrations(store: Store) -> Registrations:
    """Every sound registration, by time, and what is wrong with the rest."""
    chains = _chains(store).values()
    once = {one.hash: one for chain in chains for one in chain.registrations}
    order = sorted(once.values(), key=lambda one: parse_time(one.registered))
    return Registrations(tuple(order), tuple(p for chain in chains for p in chain.problems))


def merge_registrations(into: Store, source: Store) -> tuple[list[str], list[str]]:
    """Copy registrations with their times and hashes: the names in `into` of those that were
    copied, and what is wrong with those that were not."""
    copied, broken = [], []
    for chain in _chains(source).values():
        if chain.problems:
            broken += [f"{FOLDER}: {problem}" for problem in chain.problems]
        else:
            copied += _merge_chain(into, chain.registrations)
    return copied, broken


def utc_now() -> str:
    """Now, as registrations and results are dated: ISO 8601 in UTC, with microseconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def parse_time(text: str) -> datetime.datetime:
    """A time, in UTC; one without a time zone is refused."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        time = datetime.datetime.min
    if time.tzinfo is None:
        raise BadInput(f"time={text!r} is not valid; it must be like 2026-01-31T12:00:00+00:00")
    return time.astimezone(datetime.UTC)


def _chains(store: Store) -> dict[str, Registrations]:
    """By the name of their folder; our own first."""
    folder = store.root / FOLDER
    merged = [name for name in names_in(folder) if (folder / name).is_dir()]
    return {name: _read_chain(folder / name) for name in (MAIN, *merged)}


def _read_chain(folder: Path) -> Registrations:
    found: list[Registration] = []
    problems = []
    last_hash = ""
    for number in range(1, _next_number(folder)):
        path = folder / f"{number:04d}.json"
        try:
            header, data = read_any(path)
            if isinstance(data, dict) and (form := data.get("format")) != FORMAT:
                problems.append(
                    f"registration {number} is whole, but in another format ({form!r}) than this "
                    f"version of Clew reads ({FORMAT})"
                )
                last_hash = digest(data)
                continue
            one = _checked(path, header, data)
        except FileNotFoundError:
            problems.append(f"registration {number} is missing")
        except Damaged as damage:
            problems.append(f"registration {number} {damage.reason}")
        except CannotRead as error:
            problems.append(f"registration {number}: {error}")
        else:
            problems += _link_problems(number, one, last_hash, found[-1] if found else None)
            found.append(one)
            last_hash = one.hash
    return Registrations(tuple(found), tuple(problems), last_hash)


def _checked(path: Path, header: Header, data: JsonObject) -> Registration:
    try:
        one = Registration.from_json(data)
    except (BadInput, TypeError, KeyError) as error:
        raise Damaged(path, f"is not a registration ({error})") from None
    one.header.expect(path, header)
    return one


def _link_problems(
    number: int, one: Registration, last_hash: str, before: Registration | None
) -> list[str]:
    problems = []
    if one.number != number:
        problems.append(f"registration {number} was once number {one.number}")
    if one.previous != last_hash:
        problems.append(f"registration {number} does not follow the one before it")
    if before and parse_time(one.registered) < parse_time(before.registered):
        problems.append(f"registration {number} is dated before the one before it")
    return problems


def _write(store: Store, chain: str, one: Registration) -> None:
    """`FileExistsError` if the number is taken."""
    path = store.root / FOLDER / chain / one.file_name
    write_document(path, one.header, one.to_json(), overwrite=False)


def _merge_chain(into: Store, theirs: tuple[Registration, ...]) -> list[str]:
    ours = {name: one.registrations for name, one in _chains(into).items() if not one.problems}
    if not theirs or any(_starts_with(one, theirs) for one in ours.values()):
        return []
    continued = {name: len(one) for name, one in ours.items() if _starts_with(theirs, one)}
    # append to the longest chain that theirs continues, or else begin one named by its last hash
    new_name = f"from-{theirs[-1].hash[:12]}"
    chain = max(continued, key=lambda name: continued[name], default=new_name)
    new = theirs[continued.get(chain, 0) :]
    for one in new:
        _write(into, chain, one)
    return [f"{chain}/{one.file_name}".lstrip("/") for one in new]


def _starts_with(whole: tuple[Registration, ...], start: tuple[Registration, ...]) -> bool:
    return [one.hash for one in whole[: len(start)]] == [one.hash for one in start]


def _next_number(folder: Path) -> int:
    stems = [name.removesuffix(".json") for name in names_in(folder) if name.endswith(".json")]
    return 1 + max((int(stem) for stem in stems if stem.isdecimal()), default=0)
