"""One of each kind of thing that can be added, as somebody outside the package would write it.

`tests/test_extending.py` copies this folder elsewhere, imports it, and looks for what it added.
"""
