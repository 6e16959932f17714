"""Runs in a process of its own: one page of a PDF into a grey picture, by pypdfium2.

    python -I -S -B draw.py PACKAGES FILE PAGE DPI PIXELS TARGET

Promises: writes a binary PGM of at most PIXELS pixels, at a lower resolution if need be.
Does not: import anything of this project.
"""

from __future__ import annotations

import sys
from typing import Any

POINTS_PER_INCH = 72


def main(words: list[str]) -> None:
    """Draw. Whatever goes wrong ends this process with a message on standard error."""
    packages, source, page, dpi, pixels, target = words
    sys.path.append(packages)
    import pypdfium2

    document = pypdfium2.PdfDocument(source)
    found = document[int(page) - 1]
    scale = int(dpi) / POINTS_PER_INCH
    width, height = found.get_size()
    area = width * height * scale * scale
    if area > int(pixels):
        scale *= (int(pixels) / area) ** 0.5 * 0.99
    _write(found.render(scale=scale, grayscale=True, may_draw_forms=True), target)


def _write(bitmap: Any, target: str) -> None:
    channels, width, stride = bitmap.n_channels, bitmap.width, bitmap.stride
    data = memoryview(bitmap.buffer).cast("B")
    with open(target, "xb") as file:
        file.write(b"P5 %d %d 255\n" % (width, bitmap.height))
        for row in range(bitmap.height):
            line = data[row * stride : row * stride + width * channels]
            file.write(bytes(line)[1::channels] if channels > 1 else line)


if __name__ == "__main__":
    main(sys.argv[1:])
