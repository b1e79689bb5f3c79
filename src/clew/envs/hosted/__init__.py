"""Gymnasium environments as Clew trains on them: they step on the host, one vector at a time."""
