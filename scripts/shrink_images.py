"""Gives the pictures of a folder a palette of 256 colours: ``python scripts/shrink_images.py docs/images``.

The page has few colours, so that nothing is seen of it, and the pictures take less than half of the room.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image


def shrink(path: Path) -> None:
    """Writes a PNG again with a palette; one that has one already stays."""
    with Image.open(path) as image:
        if image.mode == "P":
            return
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    for picture in sorted(Path(sys.argv[1]).glob("*.png")):
        shrink(picture)
