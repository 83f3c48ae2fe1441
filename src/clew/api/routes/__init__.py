"""Thin routes: read the request, call Clew, shape the response."""
