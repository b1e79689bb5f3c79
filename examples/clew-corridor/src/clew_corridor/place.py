"""More questions for probes: where in the corridor is the agent?"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp

from clew import envs
from clew_corridor.world import Corridor, State


@envs.latents.register("place")
def place(env: envs.Environment) -> Place | None:
    """Where in the corridor the agent is, while all of it looks alike."""
    return Place(env.length) if isinstance(env, Corridor) else None


@dataclasses.dataclass(frozen=True)
class Place(envs.Latent[State, tuple[()]]):
    """Asked in the hall; at its ends the place can be seen."""

    length: int

    @property
    def questions(self) -> tuple[str, ...]:
        """One for each place in the hall."""
        return tuple(f"at place {place}" for place in range(1, self.length - 1))

    def start(self) -> tuple[()]:
        """All is in the state."""
        return ()

    def look(self, known: tuple[()], state: State) -> tuple[tuple[()], envs.Asked]:
        """How long ago it could be seen has no meaning: it is counted, not seen."""
        places = jnp.arange(1, self.length - 1)
        in_hall = (state.place > 0) & (state.place < self.length - 1)
        since = jnp.full(places.shape, -1)
        return known, envs.Asked(
            jnp.broadcast_to(in_hall, places.shape), places == state.place, since
        )
