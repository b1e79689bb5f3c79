"""A prediction: a sentence, and a claim about measured numbers that decides if it came true."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.store import digest
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
"""What a run, and a question asked of its memory, are known by."""

Value = str | int


@dataclass(frozen=True)
class Contrast:
    """Not a quantity itself, but how much more of it there is for `of` than for `minus`."""

    field: str
    of: Value
    minus: tuple[Value, ...]
    """With several, the claim is made about each."""

    def __post_init__(self) -> None:
        one_of("contrast.field", self.field, FIELDS)
        object.__setattr__(self, "minus", _values("contrast.minus", self.minus))
        _values("contrast.of", self.of)
        if self.of in self.minus:
            raise BadInput(f"contrast.of={self.of!r} is among contrast.minus; it must be another")


@dataclass(frozen=True)
class Unless:
    """What makes a claim not evaluable: a mean, over the runs it is about, outside of bounds.

    Such as a control that leaves the memory nothing to gain.
    """

    quantity: str
    above: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        one_of("unless.quantity", self.quantity, QUANTITIES)
        _bounds("unless", self)

    def holds(self, value: float) -> bool:
        """Whether the claim cannot be judged. What is not known (NaN) stops nothing."""
        over = self.above is not None and value > self.above
        return over or (self.below is not None and value < self.below)


@dataclass(frozen=True)
class Prediction:
    """above < value < below, where value is a mean, a contrast of means, or a correlation.

    Questions and then seeds of one cell are averaged first, so that every cell counts alike.
    """

    name: str
    statement: str
    """In words, for people; the fields below are what is graded."""
    quantity: str
    above: float | None = None
    below: float | None = None
    where: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """Values of fields that limit the claim to some runs."""
    each: tuple[str, ...] = ()
    """The claim is made about every combination of these fields by itself, not about their mean."""
    contrasts: tuple[Contrast, ...] = ()
    """Two make a difference of differences."""
    correlates: str = ""
    """If given, value is the correlation between `quantity` and this one over cells."""
    within: tuple[str, ...] = ()
    """A correlation that is gone once these fields' groups have equal means is not evaluable."""
    unless: tuple[Unless, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.statement.strip():
            raise BadInput(f"prediction {self.name!r} needs a name and a statement")
        one_of("quantity", self.quantity, QUANTITIES)
        _bounds("prediction", self)
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
        """Whether the claim is true of a value."""
        return (self.above is None or value > self.above) and (
            self.below is None or value < self.below
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data: tuples become lists."""
        return _listed(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Prediction:
        """The inverse of `to_json`; fields that have a default may be left out."""
        fields = _table(cls, "prediction", data)
        for name in ("each", "within"):
            fields[name] = tuple(_list(name, fields.get(name, ())))
        for name, kind in (("contrasts", Contrast), ("unless", Unless)):
            tables = [_table(kind, name, each) for each in _list(name, fields.get(name, ()))]
            fields[name] = tuple(kind(**each) for each in tables)
        if not isinstance(fields.setdefault("where", {}), Mapping):
            raise BadInput(f"where={fields['where']!r} is not valid; it must be a table")
        for name in ("name", "statement", "quantity", "correlates"):
            if not isinstance(fields.get(name, ""), str):
                raise BadInput(f"{name}={fields[name]!r} is not valid; it must be text")
        return cls(**fields)

    @property
    def seal(self) -> str:
        """SHA-256 of all of it: another word, another seal."""
        return digest(self.to_json())


def _table(kind: Any, name: str, data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise BadInput(f"{name}={data!r} is not valid; it must be a table")
    fields = dataclasses.fields(kind)
    known_names(f"field of {name}", data, [each.name for each in fields])
    for each in fields:
        no_default = each.default is each.default_factory is dataclasses.MISSING
        if no_default and each.name not in data:
            raise BadInput(f"{name} has no {each.name}")
    return dict(data)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise BadInput(f"{name}={value!r} is not valid; it must be a list")
    return list(value)


def _values(name: str, value: Any) -> tuple[Value, ...]:
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not values or not all(type(each) in (str, int) for each in values):
        raise BadInput(f"{name}={value!r} is not valid; it must be text or whole numbers")
    return values


def _bounds(name: str, claim: Any) -> None:
    bounds = {which: getattr(claim, which) for which in ("above", "below")}
    known = {which: value for which, value in bounds.items() if value is not None}
    if not known:
        raise BadInput(f"{name} has neither above nor below; give at least one")
    for which, value in known.items():
        object.__setattr__(claim, which, finite_number(f"{name}.{which}", value))


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, (list, tuple)) else value
