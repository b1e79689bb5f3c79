"""What is reasoned about: POMDPs, reward machines over labels, and belief filters."""
