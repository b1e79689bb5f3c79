"""Chrisman's shuttle (1992): carry goods between two stations, docking backwards."""

from __future__ import annotations

from collections.abc import Mapping

from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Law, Pomdp
from clew.machines.worlds.gallery import register

# The least recently visited station (LRV) is where to go; visiting it makes it the other one.
TURN = {
    "docked LRV": "front MRV",
    "front MRV": "back MRV",
    "space to MRV": "space to LRV",
    "back LRV": "front LRV",
    "back MRV": "front MRV",
    "space to LRV": "space to MRV",
    "front LRV": "back LRV",
    "docked MRV": "front MRV",
}
FORWARD = {
    "docked LRV": "back MRV",
    "front MRV": "front MRV",
    "space to MRV": "front MRV",
    "back LRV": "space to MRV",
    "back MRV": "space to LRV",
    "space to LRV": "front LRV",
    "front LRV": "front LRV",
    "docked MRV": "back MRV",
}
BACK: Mapping[str, Mapping[str, str]] = {
    "docked LRV": {"docked MRV": "1"},
    "front MRV": {"front MRV": "4/10", "space to MRV": "3/10", "back MRV": "3/10"},
    "space to MRV": {"space to MRV": "1/10", "back LRV": "8/10", "front LRV": "1/10"},
    "back LRV": {"docked LRV": "7/10", "back LRV": "3/10"},
    "back MRV": {"back MRV": "3/10", "docked MRV": "7/10"},
    "space to LRV": {"front MRV": "1/10", "back MRV": "8/10", "space to LRV": "1/10"},
    "front LRV": {"back LRV": "3/10", "space to LRV": "3/10", "front LRV": "4/10"},
    "docked MRV": {"docked MRV": "1"},
}
SEEN: Mapping[str, Law] = {
    "docked LRV": "docked LRV",
    "front MRV": "MRV ahead",
    "space to MRV": {"MRV ahead": "7/10", "nothing": "3/10"},
    "back LRV": "nothing",
    "back MRV": "nothing",
    "space to LRV": {"LRV ahead": "7/10", "nothing": "3/10"},
    "front LRV": "LRV ahead",
    "docked MRV": "docked MRV",
}


@register("Shuttle")
def shuttle(gamma: NumberLike = "95/100") -> Pomdp:
    """Docking at the station not visited last pays 10; bumping into one costs 3."""

    def r(s: str, a: str, after: str) -> int:
        if a == "forward" and s == after and s.startswith("front"):
            return -3
        return 10 if (a, s, after) == ("back up", "back LRV", "docked LRV") else 0

    def p(s: str, a: str) -> Law:
        return {"turn": TURN, "forward": FORWARD, "back up": BACK}[a][s]

    return Pomdp.build(
        states=list(TURN),
        actions=["turn", "forward", "back up"],
        observations=["LRV ahead", "MRV ahead", "docked MRV", "nothing", "docked LRV"],
        p=p,
        omega=lambda s: SEEN[s],
        r=r,
        gamma=gamma,
        mu="docked MRV",
        first="begin",
        variables={"place": lambda s: s},
        name="shuttle",
    )
