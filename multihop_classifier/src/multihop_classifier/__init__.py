"""A small HTTP service: does a question need one look-up, or several that depend on each other?"""

VERSION = "0.1.0"

FEATURE_NAMES = ("comparison", "logic", "entities", "bridge", "length")
"""The numbers that come with each question, in this order, each in [0, 1]."""

MAX_TOKENS = 128
"""What the encoder reads of a question, special tokens included."""
