"""What does a trained memory encode? Replay, ask, fit probes, and compare with controls.

Importing this does not import jax: whoever reads results comes through here too.
"""
