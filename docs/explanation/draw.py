"""The drawings of this folder: ``python docs/explanation/draw.py`` writes them as SVG."""

from __future__ import annotations

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


if __name__ == "__main__":
    tile()
    way()
