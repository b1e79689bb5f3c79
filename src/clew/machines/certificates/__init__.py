"""What can be claimed, the evidence for it, and an independent check of that evidence."""
