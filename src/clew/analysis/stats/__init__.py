"""One statistic a file. The seed is the only unit of replication; nothing here is paired."""
