"""One command a file. Whatever lies here and registers itself is a command."""
