"""One file per schema revision. A released revision never changes."""
