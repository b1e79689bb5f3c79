"""Given memory: the control that says what can be done with a perfect one."""

from __future__ import annotations

from jaxtyping import PRNGKeyArray

from clew.memory.architectures.memoryless import Memoryless
from clew.memory.registry import register


@register("Given")
class Given(Memoryless):
    """Given memory, the control: told what a perfect one would hold."""

    knowledge = True

    def __init__(self, in_size: int, width: int, *, key: PRNGKeyArray):
        super().__init__(in_size, width, key=key)
