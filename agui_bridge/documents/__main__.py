"""Write every document into a folder: `python -m agui_bridge.documents FOLDER`."""

from agui_bridge.documents.schemas import main

main()
