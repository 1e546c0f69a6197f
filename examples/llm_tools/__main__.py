"""`python -m examples.llm_tools`."""

from examples.llm_tools.agent import main

main()
