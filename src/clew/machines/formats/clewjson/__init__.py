"""Our own JSON: whatever `clew.machines` can say, exactly. Fractions are strings such as "3/8".

Every file says what it is: `{"format": "clew.machines", "version": 1, "kind": "pomdp", …}`. Things
are referred to by name.
"""

from clew.machines.formats.clewjson.read import parse_clew_json
from clew.machines.formats.clewjson.write import Model, clew_json

__all__ = ["Model", "clew_json", "parse_clew_json"]
