"""What to run, where to run it, and where the results are kept."""
