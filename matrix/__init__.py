"""Public producers of AG-UI, alone and behind the bridge: judged, and told in docs/matrix.md."""
