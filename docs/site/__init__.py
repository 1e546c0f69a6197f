"""The documentation site: what `make site` builds from the pages of docs/ and from the code."""
