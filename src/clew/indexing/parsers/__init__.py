"""Parsers by media type: bytes become blocks."""
