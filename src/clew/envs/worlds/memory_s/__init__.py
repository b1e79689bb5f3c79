"""MiniGrid-MemoryS: look at the cue, walk the corridor, turn to the object that matches it."""

from clew.envs.registry import Display, environments, show_as

SIZES = (7, 9, 11, 13, 15, 17)
_WORLD = "clew.envs.worlds.memory_s.world:MemoryS"

for _size in SIZES:
    environments.add(f"MiniGrid-MemoryS{_size}", _WORLD, size=_size)
for _size in (13, 17):
    environments.add(f"MiniGrid-MemoryS{_size}Random", _WORLD, size=_size, random_length=True)

# the study's two
show_as("MiniGrid-MemoryS13", Display("S13", variant="3×3", threshold=0.75, order=2))
show_as("MiniGrid-MemoryS13[view=7]", Display("S13 7×7", variant="7×7", threshold=0.75, order=3))
