"""All of the demonstration, with its report."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fost
from fost.demo import comparison, restoration
from fost.demo.comparison import SIDE, S
from fost.transforms import Coder


def main(
    folder: str | os.PathLike[str] = "demo", shown_as: str | os.PathLike[str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Run it; returns the rows of its tables. `shown_as` is the folder's name for the reader."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    print(
        f"Sparse codes of {SIDE} x {SIDE} patches, {S} coefficients each: "
        "root mean squared error (grey values from 0 to 1)\n"
    )
    pictures = comparison.PICTURES
    header = f"{'':<24} {'operations':>10} {'ns/patch':>9} " + "".join(f"{p:>10}" for p in pictures)
    print(header + "\n" + "-" * len(header))
    data = {name: comparison.patches(comparison.picture(name)) for name in pictures}
    transforms: dict[str, dict[str, Coder]] = {}
    rows = []
    for method, learner in comparison.METHODS.items():
        transforms[method] = {name: learner(Y) for name, Y in data.items()}
        errors = [comparison.rmse(Y, transforms[method][name]) for name, Y in data.items()]
        sample = transforms[method][pictures[0]]
        row = (method, sample.flops, comparison.nanoseconds(sample), errors)
        rows.append(row)
        print(
            f"{method:<24} {row[1]:>10,} {row[2]:>9.0f} " + "".join(f"{e:>10.4f}" for e in errors),
            flush=True,
        )
    comparison.draw_atoms(transforms["H12"]["camera"], out / "atoms.png")
    comparison.draw_pictures(data["camera"], transforms, out / "pictures.png")
    auto = comparison.explore(data["camera"], out / "frontier.png")
    restored = restoration.run(out)
    write_report(rows, auto, restored, out / "report.md")
    print(f"\nThe report and its pictures are in {shown_as or out}/")
    methods = [
        {"method": method, "flops": flops, "nanoseconds": ns, "rmse": errors}
        for method, flops, ns, errors in rows
    ]
    return {"methods": methods, "restoration": [asdict(row) for row in restored]}


def write_report(
    rows: list[tuple[str, int, float, list[float]]],
    auto: fost.AutoDictionary,
    restored: list[restoration.Row],
    path: Path,
) -> None:
    lines = [
        "# fost demo",
        "",
        f"Non-overlapping {SIDE} x {SIDE} patches of the pictures that come with scikit-image, "
        f"means removed, {S} coefficients per patch. Each transform is learned on the picture "
        "that it codes. Root mean squared error, grey values from 0 to 1; time to encode a "
        "float32 patch on one thread of this machine. The bank has 8 members over the 2-D DCT, of "
        "which each patch uses one.",
        "",
        "| | operations | ns/patch | " + " | ".join(comparison.PICTURES) + " |",
        "|---|---:|---:|" + "---:|" * len(comparison.PICTURES),
    ]
    for method, flops, ns, errors in rows:
        figures = " | ".join(f"{e:.4f}" for e in errors)
        lines.append(f"| {method} | {flops:,} | {ns:.0f} | {figures} |")
    lines += ["", "![codes](pictures.png)", "", "![atoms](atoms.png)", ""]
    lines += [
        "## What can be had for what cost",
        "",
        "Camera, learned on half of its patches and judged on the other half. Bold rows are those "
        "that nothing of equal or lower cost beats.",
        "",
        "| structure | operations | parameters | relative error, held out | seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    for found in auto.frontier_:
        name = f"**{found.structure}**" if found in auto.frontier_.best else found.structure
        lines.append(
            f"| {name} | {found.flops:,} | {found.n_parameters:,} | {found.held_out_error:.2%} "
            f"| {found.seconds:.2f} |"
        )
    lines += ["", "![frontier](frontier.png)", ""]
    lines += [
        "## Pictures made whole and clean",
        "",
        "The grey picture camera, 512 x 512 pixels; PSNR in dB, and seconds.",
        "",
        "| task | method | PSNR | seconds |",
        "|---|---|---:|---:|",
    ]
    for row in restored:
        lines.append(f"| {row.task} | {row.method} | {row.psnr:.2f} | {row.seconds:.2f} |")
    lines += ["", "![inpainting](inpainting.png)", "", "![denoising](denoising.png)", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
