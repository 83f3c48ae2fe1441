"""``python -m multihop_classifier``."""

from multihop_classifier.cli import main

main()
