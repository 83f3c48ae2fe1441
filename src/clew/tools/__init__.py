"""Clew as tools for an agent: Python functions, JSON-schema tools, and what :mod:`clew.mcp` serves.

::

    tools = Tools(clew)
    tools.kb_rag("How long is the Danube?", kbs=["rivers"]).text     # a function
    [tool.as_openai() for tool in tools.all()]                       # JSON schemas for a model
    tools.call("kb_rag", {"question": "…"}).text                     # what the model asked for
"""

from clew.tools.grant import EVERYTHING, Grant
from clew.tools.result import ToolResult
from clew.tools.toolbox import Tool, Tools

__all__ = ["EVERYTHING", "Grant", "Tool", "ToolResult", "Tools"]
