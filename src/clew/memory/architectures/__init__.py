"""One memory a file. Whatever lies here and registers itself is an architecture."""
