"""One claimed run, from what its claim writes to how its end is stored and told."""
