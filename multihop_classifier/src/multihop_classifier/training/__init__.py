"""From seed questions to weights: seeds → review → features → train → export.

Needs the extra ``training`` for everything that computes with PyTorch (``encoder``, ``fit``, ``export``); rows, seeds,
review, split and measures do without.
"""
