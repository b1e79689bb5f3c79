"""MiniGrid-MemoryS: look at the cue, walk the corridor, turn to the object that matches it."""

from clew.envs.registry import environments

SIZES = (7, 9, 11, 13, 15, 17)
_WORLD = "clew.envs.worlds.memory_s.world:MemoryS"

for _size in SIZES:
    environments.add(f"MiniGrid-MemoryS{_size}", _WORLD, size=_size)
for _size in (13, 17):
    environments.add(f"MiniGrid-MemoryS{_size}Random", _WORLD, size=_size, random_length=True)
