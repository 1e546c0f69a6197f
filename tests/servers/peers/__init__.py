"""AG-UI endpoints as frameworks' own packages serve them, with a scripted model: see README.md."""
