"""A model into our own JSON, one line for each start, step, edge and label."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from fractions import Fraction
from numbers import Integral

from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import Labelling, PomdpRM, RewardMachine
from clew.validate import BadInput

FORMAT, VERSION = "clew.machines", 1
POMDP, MACHINE, PRODUCT = "pomdp", "reward machine", "pomdp with reward machine"
Model = Pomdp | RewardMachine | PomdpRM


def clew_json(model: Model) -> str:
    """The text of `model`; reading it back gives an equal model."""
    if isinstance(model, Pomdp):
        kind, body = POMDP, _pomdp(model)
    elif isinstance(model, RewardMachine):
        kind, body = MACHINE, _machine(model)
    else:
        kind = PRODUCT
        body = {
            "pomdp": _pomdp(model.pomdp),
            "labelling": _labelling(model.labelling, model.pomdp),
            "machine": _machine(model.machine),
        }
    return _lines({"format": FORMAT, "version": VERSION, "kind": kind, **body}) + "\n"


def _pomdp(pomdp: Pomdp) -> dict[str, object]:
    return {
        "name": pomdp.name,
        "discount": str(pomdp.discount),
        "states": pomdp.states,
        "actions": pomdp.actions,
        "observations": pomdp.observations,
        "start": [
            [pomdp.states[b.state], pomdp.observations[b.observation], str(b.probability)]
            for b in pomdp.start
        ],
        "steps": [
            [
                pomdp.states[s],
                pomdp.actions[a],
                pomdp.states[b.state],
                pomdp.observations[b.observation],
                str(b.probability),
                str(b.reward),
            ]
            for s, rows in enumerate(pomdp.steps)
            for a, row in enumerate(rows)
            for b in row
        ],
        "terminal": [pomdp.states[s] for s in sorted(pomdp.terminal)],
        "variables": {
            name: [_plain(name, value) for value in values]
            for name, values in pomdp.variables.items()
        },
        "notes": pomdp.notes,
        **({"end": pomdp.end} if pomdp.end != "stops" else {}),
        **({"draws": pomdp.draws} if pomdp.draws else {}),
    }


def _machine(machine: RewardMachine) -> dict[str, object]:
    return {
        "name": machine.name,
        "states": machine.states,
        "initial": machine.states[machine.initial],
        "terminal": [machine.states[u] for u in sorted(machine.terminal)],
        "edges": [
            [machine.states[u], sorted(label), machine.states[edge.state], str(edge.reward)]
            for u, row in enumerate(machine.edges)
            for label, edge in row.items()
        ],
    }


def _labelling(labelling: Labelling, pomdp: Pomdp) -> list[list[object]]:
    seen, actions = pomdp.observations, pomdp.actions
    return [
        [seen[o], actions[a], seen[o2], sorted(label)]
        for (o, a, o2), label in labelling.table.items()
    ]


def _plain(name: str, value: Hashable) -> object:
    """A value of a latent variable as JSON can say it."""
    if isinstance(value, tuple):
        return [_plain(name, part) for part in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    raise BadInput(
        f"variable {name!r} has the value {value!r}, which cannot be written; valid are text, "
        "whole numbers, fractions, booleans, None and tuples of these"
    )


def _lines(value: Mapping[str, object], indent: str = "") -> str:
    """JSON with a line for each field, and for each item of a field that holds arrays."""
    inside = indent + "  "
    fields = []
    for name, field in value.items():
        if isinstance(field, Mapping) and name in ("pomdp", "machine"):
            text = _lines(field, inside)
        elif isinstance(field, list) and field and isinstance(field[0], list):
            rows = f",\n{inside}  ".join(_compact(row) for row in field)
            text = f"[\n{inside}  {rows}\n{inside}]"
        else:
            text = _compact(field)
        fields.append(f"{inside}{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(fields) + f"\n{indent}}}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
