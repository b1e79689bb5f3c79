"""A prediction: a sentence, and bounds for a measured number that decide whether it came true.

A TOML file has one [[prediction]] table for each, with the fields of `Prediction`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clew.loading import load, read_toml
from clew.store import digest
from clew.store.canonical import JsonObject, plain
from clew.validate import BadInput, finite_number, known_names, one_of

QUANTITIES = (
    "auc",
    "mlp_auc",
    "observation_auc",
    "untrained_auc",
    "shuffled_auc",
    "selectivity",
    "mlp_selectivity",
    "effective_dimension",
    "success",
)
FIELDS = ("environment", "reward", "architecture", "bonus", "seed", "latent")
"""What names a run and a question asked of its memory (`latent`)."""

Value = str | int
_STUDY = Path(__file__).with_name("study.toml")


@dataclass(frozen=True)
class Contrast:
    """A difference of means: the quantity where `field` is `of`, minus where it is `minus`."""

    field: str
    of: Value
    minus: tuple[Value, ...]
    """With several, the prediction is about each difference."""

    def __post_init__(self) -> None:
        one_of("contrast.field", self.field, FIELDS)
        object.__setattr__(self, "minus", _values("contrast.minus", self.minus))
        _values("contrast.of", self.of)
        if self.of in self.minus:
            raise BadInput(f"contrast.of={self.of!r} is among contrast.minus; it must be another")


@dataclass(frozen=True)
class Unless:
    """Makes a prediction not evaluable if a mean over the runs it is about is beyond a bound.

    For example a control with such a high AUC that the memory can gain nothing.
    """

    quantity: str
    above: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        one_of("unless.quantity", self.quantity, QUANTITIES)
        _check_bounds("unless", self)

    def exceeded(self, value: float) -> str:
        """The bound that a value is beyond, in words; empty if it is not, or not known (NaN)."""
        if self.above is not None and value > self.above:
            return f"above {self.above}"
        return f"below {self.below}" if self.below is not None and value < self.below else ""


@dataclass(frozen=True)
class Prediction:
    """above < value < below, where value is a mean, a contrast of means, or a correlation.

    Questions and then seeds of one arm are averaged first, so that every arm has the same weight.
    """

    name: str
    statement: str
    """In words, for people; the fields below are what is evaluated."""
    quantity: str
    above: float | None = None
    below: float | None = None
    where: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """Values of fields that limit the prediction to some runs."""
    each: tuple[str, ...] = ()
    """The prediction is about every combination of these fields by itself, not about their mean."""
    contrasts: tuple[Contrast, ...] = ()
    """Two make a difference of differences."""
    correlates: str = ""
    """If given, value is the correlation between `quantity` and this one over arms."""
    within: tuple[str, ...] = ()
    """Not evaluable if the correlation does not hold within the groups that these fields make."""
    unless: tuple[Unless, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.statement.strip():
            raise BadInput(f"prediction {self.name!r} needs a name and a statement")
        one_of("quantity", self.quantity, QUANTITIES)
        _check_bounds("prediction", self)
        known_names("field in where", self.where, FIELDS)
        fixed = {name: _values(f"where.{name}", value) for name, value in self.where.items()}
        object.__setattr__(self, "where", fixed)
        for name in ("each", "within"):
            known_names(f"field in {name}", getattr(self, name), FIELDS)
        contrasted = {contrast.field for contrast in self.contrasts}
        if clash := contrasted & {*self.where, *self.each}:
            raise BadInput(f"{clash.pop()!r} is contrasted; it cannot be in where or each as well")
        if len(contrasted) < len(self.contrasts):
            raise BadInput("two contrasts are of one field; give each a field of its own")
        if self.correlates:
            one_of("correlates", self.correlates, QUANTITIES)
            if self.contrasts:
                raise BadInput("a prediction has contrasts or correlates, not both")
        elif self.within:
            raise BadInput("within belongs to a prediction that has correlates")

    def holds(self, value: float) -> bool:
        """Whether a value is within the bounds."""
        return (self.above is None or value > self.above) and (
            self.below is None or value < self.below
        )

    def to_json(self) -> JsonObject:
        """Plain data: tuples become lists."""
        return plain(dataclasses.asdict(self), "prediction")

    @classmethod
    def from_json(cls, data: object) -> Prediction:
        """The inverse of `to_json`; fields that have a default may be left out."""
        return load(data, cls, "prediction")

    @property
    def digest(self) -> str:
        """SHA-256 of all of it: any change changes it."""
        return digest(self.to_json())


def read_predictions(path: Path) -> list[Prediction]:
    """The predictions that a file declares, all of them checked."""
    declared = read_toml(path)
    try:
        return _parsed(declared)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def study() -> list[Prediction]:
    """P1 to P6 of the published study; their file is an example of how to write your own."""
    return read_predictions(_STUDY)


def _parsed(declared: JsonObject) -> list[Prediction]:
    declared = plain(declared, "file")
    known_names("field", declared, ("prediction",))
    tables = declared.get("prediction", [])
    if not isinstance(tables, list) or not tables:
        raise BadInput("prediction is missing; there must be at least one [[prediction]] table")
    found = []
    for number, table in enumerate(tables, 1):
        try:
            found.append(Prediction.from_json(table))
        except BadInput as error:
            raise BadInput(f"prediction {number}: {error}") from None
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"prediction {twice[0]!r} is there twice; give each a name of its own")
    return found


def _values(name: str, value: object) -> tuple[Value, ...]:
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    known = tuple(one for one in values if type(one) is str or type(one) is int)
    if not known or len(known) < len(values):
        raise BadInput(f"{name}={value!r} is not valid; it must be text or whole numbers")
    return known


def _check_bounds(name: str, bounded: Prediction | Unless) -> None:
    bounds = {which: getattr(bounded, which) for which in ("above", "below")}
    known = {which: value for which, value in bounds.items() if value is not None}
    if not known:
        raise BadInput(f"{name} has neither above nor below; give at least one")
    for which, value in known.items():
        object.__setattr__(bounded, which, finite_number(f"{name}.{which}", value))
