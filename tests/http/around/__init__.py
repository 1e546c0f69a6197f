"""As somebody who wants a tool to run without an approval of what was shown."""
