"""HTTP: what all surfaces need; each surface is a folder, `app` puts them together."""
