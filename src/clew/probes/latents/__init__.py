"""One world's latent a module. Whatever lies here and registers itself is asked."""
