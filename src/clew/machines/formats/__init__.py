"""Models as text: Cassandra's `.POMDP`, Toro Icarte's reward-machine files, and our own JSON.

    model = formats.read("tiger.POMDP")        # chooses the format by the file's content
    formats.write(model, "tiger.json")         # … and by the file's name
"""  # fmt: skip

from clew.machines.formats.cassandra import FIRST, parse_pomdp, pomdp_text
from clew.machines.formats.clewjson import Model, clew_json, parse_clew_json
from clew.machines.formats.files import parse, read, write
from clew.machines.formats.rmtext import machine_text, parse_machine
from clew.machines.formats.text import Limits, ParseError, Place

__all__ = [
    "FIRST",
    "Limits",
    "Model",
    "ParseError",
    "Place",
    "clew_json",
    "machine_text",
    "parse",
    "parse_clew_json",
    "parse_machine",
    "parse_pomdp",
    "pomdp_text",
    "read",
    "write",
]
