"""What is told of judged endpoints: to people, machines, pages, and as a badge."""

from agui_bridge.conformance.reports.badge import as_badge
from agui_bridge.conformance.reports.files import FORMATS, check_names, write_reports, write_text
from agui_bridge.conformance.reports.json_report import as_json
from agui_bridge.conformance.reports.junit import as_junit
from agui_bridge.conformance.reports.matrix import as_markdown

__all__ = [
    "FORMATS",
    "as_badge",
    "as_json",
    "as_junit",
    "as_markdown",
    "check_names",
    "write_reports",
    "write_text",
]
