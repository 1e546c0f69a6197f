"""What every surface reads alike, whether it comes over HTTP or standard input."""
