"""A traced function as plain Python over numpy: the same bits, without the cost of a compiled call.

jax's trace of a function, its jaxpr, is a list of operations; each becomes a line of Python. Only
operations with one right answer have a numpy form (`clew.envs.numpy_rules`), and so does a function
that needs no others: no random numbers, no loops, hardly any floating-point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal, Var
from jaxtyping import Array, ArrayLike, PyTree

from clew.envs.numpy_rules import RULES, aval, padded


def in_numpy(
    function: Callable[..., PyTree[Array]], *like: PyTree
) -> Callable[..., PyTree[np.ndarray]] | None:
    """`function` for arguments of these shapes and types; None if it has no numpy form.

    Arguments and results are trees of numpy's arrays, and of its scalars where there are no axes.
    Results may share memory with arguments and constants: nobody may change them.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*like)
    run = _Lines().function(closed)
    if run is None:
        return None
    form = jax.tree.structure(shapes)
    return lambda *given: jax.tree.unflatten(form, run(*jax.tree.leaves(given)))


_NAME = re.compile(r"\b[acuv]\d+\b")
"""Arguments, constants, unknown values (which have no numpy form), and values."""


class _Lines:
    """Lines of Python that do what a jaxpr does."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {"np": np, "padded": padded}
        self.expressions: dict[str, str] = {}
        self.names: dict[Hashable, str] = {}
        """Of constants and expressions, so that nothing is kept or computed twice."""
        self.number = count()

    def function(self, closed: ClosedJaxpr) -> Callable[..., tuple[np.ndarray, ...]] | None:
        """Those that the results need, as a function of flat arguments."""
        arguments = [self.new("a") for _ in closed.jaxpr.invars]
        results = self.inline(closed, arguments)
        needed, lines = set(results), []
        for name, expression in reversed(self.expressions.items()):
            if name in needed:
                needed.update(_NAME.findall(expression))
                lines.insert(0, f"    {name} = {expression}\n")
        if any(name[0] == "u" for name in needed):
            return None
        returned = "".join(f"{name}, " for name in results)
        head = f"def run({', '.join(arguments)}):\n"
        exec(f"{head}{''.join(lines)}    return ({returned})", self.known)
        return self.known["run"]

    def inline(self, closed: ClosedJaxpr, arguments: Sequence[str]) -> list[str]:
        """Add the lines of a jaxpr; the names of its results."""
        jaxpr = closed.jaxpr
        names = dict(zip(jaxpr.invars, arguments, strict=True))
        for var, value in zip(jaxpr.constvars, closed.consts, strict=True):
            names[var] = self.constant(value, aval(var))

        def named(atom: Var | Literal) -> str:
            return self.constant(atom.val, aval(atom)) if isinstance(atom, Literal) else names[atom]

        for eqn in jaxpr.eqns:
            operands = [named(atom) for atom in eqn.invars]
            inner = eqn.params["jaxpr"] if eqn.primitive.name in ("jit", "pjit") else None
            results = self.inline(inner, operands) if inner else self.operation(eqn, operands)
            names.update(zip(eqn.outvars, results, strict=True))
        return [named(atom) for atom in jaxpr.outvars]

    def operation(self, eqn: JaxprEqn, operands: list[str]) -> list[str]:
        rule = RULES.get(eqn.primitive.name)
        found = rule(eqn, self, *operands) if rule else None
        if found is None:
            return [self.new("u") for _ in eqn.outvars]
        return [
            self.name(expression) for expression in ([found] if isinstance(found, str) else found)
        ]

    def name(self, expression: str) -> str:
        """A new one, with its line, unless it has one; what is known is computed now."""
        parts = _NAME.findall(expression)
        if expression not in self.names and parts != [expression]:
            if all(part[0] == "c" for part in parts):
                return self.constant(eval(expression, self.known))
            self.names[expression] = self.new("v")
            self.expressions[self.names[expression]] = expression
        return self.names.get(expression, expression)

    def constant(self, value: ArrayLike, aval: ShapedArray | None = None) -> str:
        if aval is not None and jnp.issubdtype(aval.dtype, jax.dtypes.extended):
            return self.new("u")
        array = np.asarray(value, None if aval is None else aval.dtype)
        key = (array.dtype, array.shape, array.tobytes())
        if key not in self.names:
            self.names[key] = self.new("c")
            self.known[self.names[key]] = array[()]
        return self.names[key]

    def new(self, kind: str) -> str:
        return f"{kind}{next(self.number)}"
