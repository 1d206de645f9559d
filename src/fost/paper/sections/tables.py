"""Table II, running times, remarks and the example in R^2."""

from __future__ import annotations

from fost.paper.markup import badge, escape, figure, table
from fost.paper.run import Reproduction


def speeds(found: Reproduction) -> str:
    """Table II: counted and measured, one line per m."""
    lines = [
        [
            f"m = {row.n_reflectors}",
            f"{_times(row.paper_dense)}",
            f"{row.counted_dense:.1f}&times;",
            f"<b>{row.measured_dense:.1f}&times;</b>",
            f"{_times(row.paper_cosine)}",
            f"{row.counted_cosine:.2f}&times;",
            f"<b>{row.measured_cosine:.1f}&times;</b>",
            f"<b>{row.measured_scipy:.1f}&times;</b>",
            f"{row.nanoseconds:.0f}",
        ]
        for row in found.rows["table-2"]
    ]
    head = (
        "reflectors",
        "over Q-DLA: paper",
        "counted",
        "measured",
        "over the FCT: paper",
        "counted",
        "measured",
        "over SciPy&rsquo;s",
        "ns per patch",
    )
    caption = (
        f"One thread, float32, {found.settings.timed_signals:,} patches at a time, medians of "
        f"{found.settings.repeats} interleaved repetitions. Q-DLA is Y @ Q by BLAS; FCT is "
        "fost&rsquo;s own 64-point cosine transform, and SciPy&rsquo;s is scipy.fft.dct."
    )
    few, many = found.rows["table-2"][0], found.rows["table-2"][-1]
    text = (
        "<p>Time does not follow counts: reading and writing a patch costs as much as several "
        "reflectors, and a dense product runs at the peak of the processor. "
        f"m = {few.n_reflectors} is {few.measured_dense:.1f} times as fast as Q-DLA, "
        f"{few.counted_dense:.1f} times by counts; m = {many.n_reflectors} is "
        f"{many.measured_cosine:.2f} times as fast as the cosine transform, "
        f"{many.counted_cosine:.2f} times by counts.</p>"
    )
    return text + table(head, lines, caption, kind="numbers")


def _times(value: float) -> str:
    return f"{value:g}&times;"


def times(found: Reproduction) -> str:
    """Seconds to learn."""
    rows = found.rows["times"]
    lines = [
        [
            row.method,
            ("over " if row.method == "SK-SVD" else "") + f"{row.paper:g} s",
            f"<b>{row.seconds:.2f} s</b>",
            f"{row.seconds_one_thread:.2f} s",
            f"{row.paper / row.seconds:,.0f}&times;",
        ]
        for row in rows
    ]
    head = ("method", "paper", f"{rows[0].threads} threads", "1 thread", "faster by")
    caption = (
        f"Learning on {rows[0].n_signals:,} patches, K = {rows[0].n_iter}, start included; SK-SVD "
        f"as published, in {rows[-1].n_iter - 1} stages. The paper: K = 100, MATLAB 2014 on a "
        "laptop, so the factor compares programs and machines, not methods."
    )
    return table(head, lines, caption, kind="numbers")


_REMARKS = {
    1: "Remark 1: rows of used atoms whose Gershgorin disk lies right of zero",
    2: "Remark 2: asymmetry of Y X&#7488; D&#7488;, of 1",
    3: "Remark 3: what the best orthonormal matrix in front would gain",
    4: "Remark 4: what one more reflector would gain",
    5: "Remark 5: what orthogonal reflectors give away for the same codes",
}


def remarks(found: Reproduction) -> str:
    """What other matrices would gain, by remark and dictionary."""
    rows = found.rows["remarks"]
    names = list(dict.fromkeys(row.dictionary for row in rows))
    cells = {(row.remark, row.dictionary): row for row in rows}
    lines = []
    for remark, title in _REMARKS.items():
        line = [title]
        for name in names:
            row = cells[remark, name]
            value = _share(row.value, whole=remark == 1)
            mark = "" if remark == 5 else badge("holds") if row.holds else ""
            line.append(f'<span title="{escape(row.sentence)}">{value}</span> {mark}')
        lines.append(line)
    caption = (
        "Remarks 3 to 5: shares of the energy of the patches, codes fixed. Where a condition "
        "holds, with no more than 0.01 % to gain (Remark 2: an asymmetry of 0.1 %), the "
        "dictionary is a local minimum in the sense of the remark; these limits were set after "
        "looking. Remark 1 is a condition that suffices, Remarks 2 and 3 are equivalent once 2 is "
        "put right (see below)."
    )
    return table(("", *map(escape, names)), lines, caption, kind="numbers")


def _share(value: float, whole: bool) -> str:
    if whole:
        return f"{value:.0%}".replace("%", " %")
    if value < 1e-9:
        return "0 %"
    return f"{100 * value:.{2 if value >= 5e-4 else 5}f} %"


def example(found: Reproduction, chart: str) -> str:
    """The example in R^2: three sets of signals, and a drawing."""
    rows = found.rows["example"]
    lines = [
        [
            escape(row.case),
            f"{row.first:g}, {row.second:g}, {row.cross:g}",
            f"{row.lowest_eigenvalue:.2f}",
            "yes" if row.reflector_helps else "no",
            f"{row.reflector_gain:.1%}",
            f"{row.orthonormal_gain:.1%}",
        ]
        for row in rows
    ]
    head = (
        "signals",
        "‖y₁₁‖², ‖y₂₂‖², cross term",
        "lowest eigenvalue of Z̃",
        "does a reflector help?",
        "it gains",
        "any orthonormal matrix gains",
    )
    caption = (
        "Dictionary I, s = 1; gains are shares of the energy, codes fixed. A reflector helps if "
        "and only if 2 ‖y₁₁‖ ‖y₂₂‖ is below the magnitude of the cross term "
        "y₁₁ᵀy₂₁ + y₂₂ᵀy₁₂; the paper has the inequality the other way round. In the last case "
        "Y Xᵀ is skew-symmetric off its diagonal, which the paper takes for a sign that no "
        "orthonormal dictionary is much better."
    )
    drawn = figure(
        "example-chart",
        chart,
        "Signals, the axes, and the atoms of the best reflector and of the best orthonormal "
        "matrix: the first and the last case.",
    )
    made = table(head, lines, caption, kind="numbers")
    return f'<div class="beside"><div>{made}</div>{drawn}</div>'
