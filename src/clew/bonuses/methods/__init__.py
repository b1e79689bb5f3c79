"""One bonus a file; whatever registers itself here exists."""
