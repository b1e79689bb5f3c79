"""Pure functions of a task or a table. Seeds are the only replication; nothing is paired."""
