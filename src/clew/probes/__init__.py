"""What does a trained memory encode? Replay episodes, fit probes to its states, and compare.

In the order of use: `replay` plays the episodes and `recording` keeps their states and answers (the
questions are the world's, `clew.envs.Latent`); `fitting` fits probes and scores them, `results` is
what they found, and `stored` is the file of a run that holds it; `probing` does all this for the
runs of a suite. `arms` averages over seeds, `predictions` compares with what was predicted, and
`report` is the section of the report.

Importing this does not import jax: `results` and what comes after it need none.
"""
