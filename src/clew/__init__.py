"""Clew answers questions over your own documents and shows how it found the answer."""

__version__ = "0.1.0"
