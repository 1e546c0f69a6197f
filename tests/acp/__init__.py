"""`agui-bridge acp`: real editors' libraries in front of real processes of it."""
