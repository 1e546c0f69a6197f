"""An input before its run: the settings, what it brings to the thread, what it answers."""
