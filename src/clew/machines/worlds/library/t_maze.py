"""The T-maze (Bakker 2001): a sign at the start says which way to turn at the far end."""

from __future__ import annotations

from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.gallery import register
from clew.validate import whole_number


@register("TMaze")
def t_maze(length: int = 4, gamma: NumberLike = "98/100") -> Pomdp:
    """Walk `length` cells east; at the junction the right turn pays 4, the wrong one −1/10.

    Actions that lead nowhere cost 1/10. Corridor cells look alike.
    """
    whole_number("length", length, 1, 100)
    sides = ("north", "south")

    def p(s: str, a: str) -> str:
        if s == "end":
            return "end"
        place, goal = s.split()
        x = int(place)
        if x == length and a in sides:
            return "end"
        x += {"east": 1, "west": -1}.get(a, 0)
        return f"{min(max(x, 0), length)} {goal}"

    def omega(s: str) -> str:
        if s == "end":
            return "end"
        place, goal = s.split()
        if int(place) == 0:
            return f"sign {goal}"
        return "junction" if int(place) == length else "corridor"

    def r(s: str, a: str, after: str) -> NumberLike:
        if s == "end":
            return 0
        if after == "end":
            return 4 if a == s.split()[1] else "-1/10"
        return "-1/10" if after == s else 0

    return Pomdp.build(
        states=[f"{x} {goal}" for x in range(length + 1) for goal in sides] + ["end"],
        actions=["north", "east", "south", "west"],
        observations=["sign north", "sign south", "corridor", "junction", "end"],
        p=p,
        omega=omega,
        r=r,
        gamma=gamma,
        mu={f"0 {goal}": "1/2" for goal in sides},
        terminal=["end"],
        variables={"goal": lambda s: s.split()[-1], "place": lambda s: s.split()[0]},
        name=f"T-maze of length {length}",
    )
