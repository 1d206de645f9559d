"""The drawings of this folder: ``python docs/explanation/draw.py`` writes them as SVG."""

from __future__ import annotations

import math
from pathlib import Path

HERE = Path(__file__).parent
# Seen on white and on black; words follow the colours of the page.
WORDS = "<style>text{fill:#333}@media (prefers-color-scheme: dark){text{fill:#ddd}}</style>"
INK, BLUE, ORANGE, GREY = "#808890", "#4a90d9", "#e08a3c", "#b0b6bc"


def text(x: float, y: float, words: str, size: int = 13, anchor: str = "middle") -> str:
    return (
        f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="{size}" '
        f'text-anchor="{anchor}">{words}</text>'
    )


def box(x: float, y: float, width: float, height: float, fill: str, opacity: float = 1) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" '
        f'fill-opacity="{opacity}" stroke="{INK}" stroke-width="0.75"/>'
    )


def arrow(x: float, y: float, to: float) -> str:
    return (
        f'<path d="M{x} {y}H{to - 7}" stroke="{INK}" stroke-width="1.5"/>'
        f'<path d="M{to} {y}l-9 -4.5v9z" fill="{INK}"/>'
    )


def save(name: str, width: int, height: int, parts: list[str]) -> None:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
    (HERE / name).write_text("\n".join([head, WORDS, *parts, "</svg>\n"]), encoding="utf-8")


def tile() -> None:
    """Signals lie in rows; in a tile, an entry of eight signals is one register."""
    parts = [text(110, 22, "signals in memory, one per row"), text(445, 22, "a tile of them")]
    side, signals, entries = 20, 8, 10
    for row in range(signals):
        for k in range(entries):
            shade = 0.9 if k == 3 else 0.15
            parts.append(box(10 + side * k, 36 + side * row, side, side, BLUE, shade))
    parts.append(arrow(225, 116, 330))
    parts.append(text(277, 106, "transpose", 12))
    for k in range(entries):
        for row in range(signals):
            shade = 0.9 if k == 3 else 0.15
            parts.append(box(350 + side * row, 36 + side * k, side, side, BLUE, shade))
    parts.append(text(520, 111, "one register:", 12, "start"))
    parts.append(text(520, 127, "entry 3 of 8 signals", 12, "start"))
    save("tile.svg", 660, 250, parts)


def way() -> None:
    """A tile goes through all steps while it is in the nearest cache."""
    steps = ["read", "transform", "select", "write"]
    parts = [box(130, 30, 370, 90, BLUE, 0.08), text(315, 22, "in the first-level cache", 12)]
    for k, (name, x) in enumerate(zip(steps, (10, 150, 350, 520), strict=True)):
        inside = 0 < k < 3
        parts.append(box(x, 50, 110, 50, ORANGE if inside else GREY, 0.35))
        parts.append(text(x + 55, 80, name))
    parts += [arrow(120, 75, 150), arrow(260, 75, 350), arrow(460, 75, 520)]
    parts.append(text(65, 120, "n numbers", 12))
    parts.append(text(575, 120, "s numbers", 12))
    save("way.svg", 640, 132, parts)


def factorisation() -> None:
    """Y is about U X: signals, atoms, and codes with two entries per signal."""
    side, top = 14, 36
    used = [(0, 3), (1, 5), (0, 6), (2, 3), (1, 4), (0, 2), (5, 7), (2, 6), (0, 1), (3, 4)]
    parts = []
    for x, columns, name in ((10, 10, "signals Y"), (220, 8, "transform U"), (400, 10, "codes X")):
        parts.append(text(x + side * columns / 2, 22, name))
        for row in range(8):
            for k in range(columns):
                fill, shade = (BLUE, 0.25) if columns == 10 else (ORANGE, 0.15 + 0.1 * (k % 2))
                if name == "codes X":
                    fill, shade = (BLUE, 0.9) if row in used[k] else (GREY, 0.05)
                parts.append(box(x + side * k, top + side * row, side, side, fill, shade))
    parts += [text(185, 97, "≈", 22), text(366, 97, "·", 26)]
    parts.append(text(80, 168, "n rows, N columns", 12))
    parts.append(text(276, 168, "n atoms in columns", 12))
    parts.append(text(470, 168, "s entries per column", 12))
    save("factorisation.svg", 550, 180, parts)


def reflection() -> None:
    """A reflector turns the part along u around; a rotation turns two coordinates."""

    def ray(x: float, y: float, dx: float, dy: float, colour: str) -> str:
        angle = math.degrees(math.atan2(dy, dx))
        return (
            f'<path d="M{x} {y}L{x + dx:.1f} {y + dy:.1f}" stroke="{colour}" stroke-width="2.5"/>'
            f'<path d="M0 0l-11 -5v10z" fill="{colour}" '
            f'transform="translate({x + dx:.1f} {y + dy:.1f}) rotate({angle:.1f})"/>'
        )

    parts = [text(130, 20, "reflector: y - 2 (uᵀy) u"), text(410, 20, "rotation of two entries")]
    parts.append(f'<path d="M20 170L240 90" stroke="{INK}" stroke-dasharray="5 4"/>')
    parts.append(text(238, 82, "mirror", 12, "end"))
    parts += [ray(130, 130, 80, -75, BLUE), ray(130, 130, -27.2, -74.8, GREY)]
    length = 80 * -0.342 + -75 * -0.94  # along the unit normal of the mirror
    parts.append(ray(130, 130, 80 + 2 * length * 0.342, -75 + 2 * length * 0.94, ORANGE))
    parts += [text(218, 50, "y", 14), text(92, 50, "u", 14), text(238, 156, "H y", 14, "end")]
    parts += [
        f'<path d="M320 170H510" stroke="{INK}"/>',
        f'<path d="M340 190V40" stroke="{INK}"/>',
        text(510, 187, "entry i", 12, "end"),
        text(346, 46, "entry j", 12, "start"),
        ray(340, 170, 120, -40, BLUE),
        ray(340, 170, 75, -102, ORANGE),
        f'<path d="M397 151A60 60 0 0 0 376 121" fill="none" stroke="{INK}"/>',
        text(402, 132, "θ", 14),
        text(474, 130, "y", 14),
        text(420, 62, "G y", 14, "start"),
    ]
    save("reflection.svg", 540, 200, parts)


def families() -> None:
    """Which atoms the code of one signal may use."""
    parts = []
    rows = (
        ("single transform", ("U",), {(0, 2), (0, 5)}),
        ("bank", ("U₁", "U₂", "U₃"), {(1, 1), (1, 6)}),
        ("union", ("U₁", "U₂", "U₃"), {(0, 3), (2, 5)}),
    )
    for k, (name, members, used) in enumerate(rows):
        y = 18 + 56 * k
        parts.append(text(12, y + 22, name, 13, "start"))
        for m, label in enumerate(members):
            x = 140 + 140 * m
            for j in range(8):
                shade = 0.9 if (m, j) in used else 0.12
                parts.append(box(x + 14 * j, y, 14, 26, BLUE if shade > 0.5 else ORANGE, shade))
            parts.append(text(x + 56, y + 40, label, 12))
    save("families.svg", 550, 185, parts)


def products() -> None:
    """Sparse dictionaries D = B A, and circulant dictionaries."""
    side = 13
    parts = [
        text(170, 20, "sparse dictionary: D = B A"),
        text(445, 20, "circulant: shifts of one atom"),
    ]
    for row in range(8):
        for k in range(8):
            parts.append(
                box(20 + side * k, 36 + side * row, side, side, ORANGE, 0.15 + 0.1 * (k % 2))
            )
        for k in range(12):
            used = row in ((3 * k) % 8, (5 * k + 2) % 8)
            parts.append(
                box(
                    160 + side * k,
                    36 + side * row,
                    side,
                    side,
                    BLUE if used else GREY,
                    0.9 if used else 0.05,
                )
            )
        for k in range(8):
            shade = (0.9, 0.6, 0.3, 0.05, 0.05, 0.05, 0.05, 0.4)[(row - k) % 8]
            parts.append(box(393 + side * k, 36 + side * row, side, side, BLUE, shade))
    parts.append(text(142, 94, "·", 26))
    parts.append(text(72, 158, "fast base B", 12))
    parts.append(text(238, 158, "A: p entries per column", 12))
    parts.append(text(445, 158, "n parameters", 12))
    save("products.svg", 550, 170, parts)


if __name__ == "__main__":
    for draw in (tile, way, factorisation, reflection, families, products):
        draw()
