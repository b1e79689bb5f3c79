"""A world, a memory, a bonus, a suite and a latent for Clew."""
