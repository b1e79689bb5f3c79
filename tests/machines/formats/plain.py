"""The `.POMDP` format read a second time: in floats, into full arrays, without any error handling.

Written from the format's description alone; it believes whatever it is given, so it is only asked
about files that our reader accepts.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

STARTS = ("discount", "values", "states", "actions", "observations", "start", "T", "O", "R")


def arrays(text: str) -> dict[str, Any]:
    """Discount, start, and T[a, s, s'], O[a, s', o], R[a, s, s', o]."""
    text = re.sub(r"#[^\r\n]*", " ", text)
    words = re.sub(r"([+-])\s*(?=[\d.])(?<![\w.].)", r" \1", text.replace(":", " : ")).split()
    statements: list[list[str]] = []
    for i, word in enumerate(words):
        follows = words[i + 1] if i + 1 < len(words) else ""
        opens = follows == ":" or (word == "start" and follows in ("include", "exclude"))
        previous = words[i - 1] if i else ""
        if word in STARTS and opens and previous != ":":
            statements.append([])
        statements[-1].append(word)
    names: dict[str, list[str]] = {}
    model: dict[str, Any] = {}
    for head, *rest in statements:
        if head in ("states", "actions", "observations"):
            listed = rest[1:]
            counted = len(listed) == 1 and listed[0].isdigit()
            names[head] = [str(i) for i in range(int(listed[0]))] if counted else listed
        elif head in ("discount", "values"):
            model[head] = rest[1]
    s, a, o = (len(names[kind]) for kind in ("states", "actions", "observations"))
    model["start"] = np.full(s, 1 / s)
    model.update(T=np.zeros((a, s, s)), O=np.zeros((a, s, o)), R=np.zeros((a, s, s, o)))
    for head, *rest in statements:
        if head == "start":
            model["start"] = _start(rest, names["states"])
    for head, *rest in statements:
        if head in "TOR":
            _set(model, head, rest, names)
    model["R"] *= -1 if model["values"] == "cost" else 1
    model["discount"] = float(model["discount"])
    return model


def _start(rest: list[str], states: list[str]) -> np.ndarray:
    how, words = (rest[0], rest[2:]) if rest[0] != ":" else ("", rest[1:])
    if words == ["uniform"]:
        return np.full(len(states), 1 / len(states))
    if not how and len(words) == len(states) and not (len(states) == 1 and words[0] != "1"):
        try:
            return np.array([float(word) for word in words])
        except ValueError:
            pass
    belief = np.full(len(states), float(how == "exclude"))
    for word in words:
        index = int(float(word)) if re.match(r"[\d.]", word) else states.index(word)
        belief[0 if len(states) == 1 else index] = float(how != "exclude")
    return belief / belief.sum()


def _set(model: dict[str, Any], table: str, rest: list[str], names: dict[str, list[str]]) -> None:
    kinds = {"T": ("actions", "states", "states"), "O": ("actions", "states", "observations")}
    keys: list[Any] = []
    at = 0
    for kind in kinds.get(table, ("actions", "states", "states", "observations")):
        if at >= len(rest) or rest[at] != ":":
            break
        word = rest[at + 1]
        found = slice(None) if word == "*" else None
        keys.append(found or (int(word) if word.isdigit() else names[kind].index(word)))
        at += 2
    cells = model[table][tuple(keys)]
    body = rest[at:]
    if body == ["uniform"]:
        value: Any = 1 / cells.shape[-1]
    elif body == ["identity"]:
        value = np.eye(len(names["states"]))
    elif body == ["reset"]:
        value = model["start"]
    else:
        numbers = np.array([float(word) for word in body])
        free = model[table].ndim - len(keys)
        value = numbers.reshape(model[table].shape[len(keys) :]) if free else numbers[0]
    model[table][tuple(keys)] = value
