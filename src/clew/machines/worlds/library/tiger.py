"""The tiger problem (Kaelbling, Littman and Cassandra 1998)."""

from __future__ import annotations

from clew.machines.exact.numbers import NumberLike, rational
from clew.machines.model.pomdp import Law, Pomdp
from clew.machines.worlds.gallery import register


@register("Tiger")
def tiger(hearing: NumberLike = "85/100", gamma: NumberLike = "95/100") -> Pomdp:
    """Listen (−1) or open a door: +10 without, −100 with the tiger, which then moves anew.

    Opening tells nothing; what is heard then is noise.
    """
    right = rational("hearing", hearing)
    sides = ("left", "right")
    states = [f"{z}, {after}" for after in ("listened", "opened") for z in sides]

    def p(s: str, a: str) -> Law:
        if a == "listen":
            return f"{s.split(',')[0]}, listened"
        return {f"{z}, opened": "1/2" for z in sides}

    def omega(s: str) -> Law:
        z, after = s.split(", ")
        odds = right if after == "listened" else rational("half", "1/2")
        return {f"hear {z}": odds, f"hear {sides[1 - sides.index(z)]}": 1 - odds}

    def r(s: str, a: str, after: str) -> int:
        if a == "listen":
            return -1
        return -100 if a == f"open {s.split(',')[0]}" else 10

    return Pomdp.build(
        states=states,
        actions=["listen", "open left", "open right"],
        observations=["hear left", "hear right"],
        p=p,
        omega=omega,
        r=r,
        gamma=gamma,
        mu={f"{z}, opened": "1/2" for z in sides},
        first="begin",
        variables={"tiger": lambda s: s.split(",")[0]},
        name="tiger",
    )
