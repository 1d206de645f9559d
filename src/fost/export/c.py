"""C99 source of transforms and banks: one header with tables and a few small functions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from string import Template
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import Numbers
from fost._validation import check_choice, check_flag, check_path
from fost.export import templates
from fost.export.program import ReflectorStep, RotationStep, Step, programs
from fost.export.quantised import ENERGY_SHIFT, LiftingStep, Quantised, signed_digits
from fost.io.atomic import write_atomically
from fost.transforms import Chain, Coder

_MAX_NAME = 40
# Values of the arguments of `Quantised` that floating-point code may have.
_INTEGER_DEFAULTS = {"bits": 8, "fraction_bits": 4, "max_digits": None}
# Code of a DCT of patches with rotations, encoded and decoded, by benchmarks/deployment.py.
_CODE_BYTES = 1200
_KINDS = {
    "turn": templates.TURN,
    "rotate": templates.ROTATE,
    "reflect": templates.REFLECT,
    "multiply": templates.DENSE,
}
# Lines of at most this length are transformed by code without tables: 0.4 kB for 8 entries.
_MAX_UNROLLED = 8
# Signals of the self-test, the entries of their codes, and the error in units of the last place.
_N_TESTS = 3
_TEST_ENTRIES = 4
_TEST_ULPS = 8


class CSize(NamedTuple):
    """Bytes of the constant tables of exported C code, and of its work arrays on the stack."""

    tables: int
    stack: int

    @property
    def flash(self) -> int:
        """The tables and about 1.2 kB of code, as for a Cortex-M4 with -Os.

        Processors without floating-point arithmetic need more code: a Cortex-M0 about 1.6 kB for
        float32, and the compiler's floating-point functions.
        """
        return self.tables + _CODE_BYTES


def to_c(
    coder: Coder,
    path: str | os.PathLike[str],
    *,
    name: str = "transform",
    dtype: str = "float32",
    integers: bool = False,
    bits: int = 8,
    fraction_bits: int = 4,
    max_digits: int | None = None,
    overwrite: bool = False,
) -> CSize:
    """Write a C99 header with `forward`, `inverse`, `encode` and `decode` of a transform or bank.

    The header includes only ``stdint.h`` and allocates no memory. Its functions are ``static
    inline``, and their names begin with `name`. Compiled with ``-DFOST_SELF_TEST``, it is a program
    that returns 0 if the functions reproduce results of fost.

    Parameters
    ----------
    coder : Transform or Bank
        The transform, of at most 16,384 features. Householder reflectors, rotations, DCTs, Hadamard
        and wavelet transforms stay fast. The odd factor m of the length of a DCT takes m (m - 1) /
        2 rotations. Other transforms are dense products.
    path : path
        Name of the file.
    name : str
        Prefix of all names in the header: a C identifier.
    dtype : "float32" or "float64"
        Type of signals and coefficients; ignored with `integers`.
    integers : bool
        Whether to use integer arithmetic, with 32-bit integers as in `Quantised`. The inverse is
        exact.
    bits, fraction_bits, max_digits : int
        Arguments of `Quantised`, only with `integers`. With `max_digits`, the code has no
        multiplications. It is larger, and slower on processors with a multiplier.
    overwrite : bool
        Whether an existing file may be replaced; if false, an existing file is a FileExistsError.

    Returns
    -------
    CSize
        Bytes of the `tables`, and of the work arrays on the `stack`. Its property `flash` estimates
        the tables and the code together.

    Examples
    --------
    >>> import fost, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "cosine.h")
    >>> fost.export.to_c(fost.DCT((8, 8)), path, name="cosine")
    CSize(tables=215, stack=256)
    >>> "static inline int cosine_encode(" in path.read_text()
    True
    """
    check_path(path, "path")
    if not check_flag(overwrite, "overwrite") and os.path.lexists(path):
        raise FileExistsError(f"{os.fspath(path)!r} exists already")
    quantised = None
    if check_flag(integers, "integers"):
        quantised = Quantised(coder, bits, fraction_bits, max_digits)
    else:
        settings = {"bits": bits, "fraction_bits": fraction_bits, "max_digits": max_digits}
        for key, value in settings.items():
            if value != _INTEGER_DEFAULTS[key]:
                raise ValueError(
                    f"{key} must be {_INTEGER_DEFAULTS[key]} without integers=True, got {value}"
                )
    check_choice(dtype, "dtype", ("float32", "float64"))
    text, size = c_source(coder, _checked_name(name), dtype, quantised)
    write_atomically(path, text.encode("ascii"))
    return size


def c_size(coder: Coder, dtype: str = "float32", quantised: Quantised | None = None) -> CSize:
    """The size of the exported code, without its text."""
    return _Tables(coder, dtype, quantised).size


def c_source(
    coder: Coder,
    name: str = "transform",
    dtype: str = "float32",
    quantised: Quantised | None = None,
) -> tuple[str, CSize]:
    """The text of the header and its size."""
    tables = _Tables(coder, dtype, quantised)
    real, members, size = tables.real, tables.n_members, tables.size
    declared = [_declaration(f"@_{key}", array) for key, array in tables.arrays.items()]
    index = "uint16_t" if coder.n_atoms <= 2**16 else "uint32_t"
    values = {
        "ABOUT": _about(coder, quantised),
        "NOTE": _note(quantised),
        "DEFINES": _defines(quantised),
        "FLASH": f"{size.tables:,}",
        "STACK": f"{size.stack:,}",
        "N_FEATURES": coder.n_features,
        "N_MEMBERS": members,
        "VALUE_TYPE": {"f4": "float", "f8": "double", "i4": "int32_t"}[real.str[1:]],
        "INDEX_TYPE": index,
        "SIZE_TYPE": f"{tables.size_type}_t",
        "PAIR_TYPE": f"{_integer_type(tables.arrays.get('pairs', [0]))}_t",
        "KINDS": ", ".join(f"{k} {kind}" for k, kind in enumerate(tables.kinds)) or "none",
        "STEP_ROWS": ",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in tables.rows),
        "BOUNDS": ", ".join(map(str, tables.bounds)),
        "CALLS": _calls(tables.kinds),
        "ABS": "fabsf" if real == np.float32 else "fabs",
        **(templates.ORDERED if "order" in tables.arrays else templates.IN_ORDER),
        **_member_texts(members > 1),
        **_number_texts(quantised),
        **_self_test(coder, real, index, quantised),
    }
    parts = [templates.HEADER, "\n".join(declared), templates.STEPS, templates.PLACES]
    uses_rotate = tables.unrolled or (quantised is not None and "turn" in tables.kinds)
    kinds = dict.fromkeys([*(["rotate"] if uses_rotate else []), *tables.kinds])
    if quantised is None:
        known = _KINDS
        parts.append(templates.FLOAT_SIZE)
    else:
        known = {"rotate": templates.LIFT, "turn": templates.LIFT_TURN}
        product = templates.PRODUCT if quantised.max_digits is None else templates.DIGITS
        parts += [templates.INTEGER_SIZE, *([product] if kinds else [])]
    parts += [tables.unrolled[kind] if kind in tables.unrolled else known[kind] for kind in kinds]
    parts += [templates.RUN, templates.FUNCTIONS]
    parts += [templates.ENCODE_BANK if members > 1 else templates.ENCODE, templates.SELF_TEST]
    text = Template("".join(parts)).substitute(values)
    return text.replace("@@", name.upper()).replace("@", name), size


class _Tables:
    """The steps of a coder and their numbers in two arrays; equal tables are stored once."""

    def __init__(self, coder: Coder, dtype: str, quantised: Quantised | None) -> None:
        self.real = np.dtype(dtype if quantised is None else np.int32)
        self._quantised = quantised
        self._at: dict[tuple[str, bytes], int] = {}
        self._parts: dict[str, list[Numbers]] = {"pairs": [], "numbers": []}
        self.rows: list[list[int]] = []
        self.kinds: list[str] = []
        self.unrolled: dict[str, str] = {}
        self.bounds = [0]
        base, members = (
            programs(coder) if quantised is None else (quantised._base, quantised._members)
        )
        self.n_members = len(members)
        for program in (base, *members):
            for step in program.steps:
                self.add(step)
            self.bounds.append(len(self.rows))
        self.rows = self.rows or [[0] * 9]
        self.arrays = {key: np.concatenate(parts) for key, parts in self._parts.items() if parts}
        order = np.array([2 * member.where + (member.sign < 0) for member in members])
        if (order != 2 * np.arange(coder.n_features)).any():
            self.arrays["order"] = order
        if quantised is not None:
            self.arrays["weights"] = quantised._weights
        # All numbers of the steps have one type.
        self.size_type = _integer_type([*np.ravel(self.rows), *self.bounds])
        flash = sum(_narrow(array).nbytes for array in self.arrays.values())
        flash += (np.size(self.rows) + len(self.bounds)) * np.dtype(self.size_type).itemsize
        signals = 1 + (self.n_members > 1) + ("multiply" in self.kinds)
        self.size = CSize(flash, self.real.itemsize * coder.n_features * signals)

    def add(self, step: Step | LiftingStep) -> None:
        kind, lines = "multiply", (1, 0, 1, 0, 1)
        if isinstance(step, RotationStep | LiftingStep):
            if step.outer == 1:
                lines = 1, 0, step.stride, 1, step.stride
            elif step.stride == 1:
                lines = 1, 0, step.outer, step.length, 1
            else:
                lines = step.outer, step.length * step.stride, step.stride, 1, step.stride
            pairs = self._place("pairs", step.pairs.ravel())
            count, numbers = len(step.pairs), self._numbers(step)
            kind = self._kind(step, lines[2], f"{pairs}_{numbers}")
        else:
            table = step.vectors if isinstance(step, ReflectorStep) else step.matrix
            kind = "reflect" if isinstance(step, ReflectorStep) else kind
            pairs, count, numbers = 0, len(table), self._place("numbers", table.ravel())
        if kind not in self.kinds:
            self.kinds.append(kind)
        self.rows.append([self.kinds.index(kind), *lines, count, pairs, numbers])

    def _kind(self, step: RotationStep | LiftingStep, lines: int, tables: str) -> str:
        """The function of a table; short lines get one of their own."""
        if step.length > _MAX_UNROLLED or lines == 1:
            return "turn" if lines == step.stride == 1 else "rotate"
        kind, entries = f"line{step.length}_{tables}", range(step.length)
        body = self._rotations(step) if isinstance(step, RotationStep) else self._lifts(step)
        self.unrolled[kind] = Template(templates.UNROLLED).safe_substitute(
            kind=kind,
            entries=", ".join(["u", *(f"x{k}" for k in entries)]),
            loads="\n".join(f"        x{k} = *p, p += stride;" for k in entries),
            rotations="\n".join(f"        {line};" for line in body),
            stores="\n".join(f"        p -= stride, *p = x{k};" for k in reversed(entries)),
        )
        return kind

    def _rotations(self, step: RotationStep) -> Iterator[str]:
        suffix = "f" if self.real == np.float32 else ""
        for (i, j), *angle in zip(step.pairs, step.cosines, step.sines, strict=True):
            c, s = (f"{np.format_float_scientific(self.real.type(v))}{suffix}" for v in angle)
            yield f"u = x{i}, x{i} = {c} * u + {s} * x{j}, x{j} = {c} * x{j} - {s} * u"

    def _lifts(self, step: LiftingStep) -> Iterator[str]:
        assert self._quantised is not None
        by_digits = self._quantised.max_digits is not None

        def lift(value: int, shift: int, source: str) -> str:
            product = f"{value} * {source}"
            if by_digits:
                digits = ((d > 0, abs(d).bit_length() - 1) for d in signed_digits(value))
                terms = (f"{'+-'[not up]} ((uint32_t){source} << {k})" for up, k in digits)
                product = f"(int32_t)({' '.join(terms) or '0'})"
            return f"(({product} + {1 << shift >> 1}) >> {shift})"

        columns = step.pairs, step.p, step.s, step.p_shift, step.s_shift
        for (i, j), p, s, p_shift, s_shift in zip(*(c.tolist() for c in columns), strict=True):
            if p or s:
                yield f"x{i} += u = {lift(p, p_shift, f'x{j}')}"
                yield f"x{j} -= u = {lift(s, s_shift, f'x{i}')}"
                yield f"x{i} += u = {lift(p, p_shift, f'x{j}')}"
            else:
                yield f"x{j} -= x{i}, x{i} += u = x{j} >> 1"

    def _numbers(self, step: RotationStep | LiftingStep) -> int:
        if isinstance(step, RotationStep):
            return self._place("numbers", np.stack([step.cosines, step.sines], 1).ravel())
        assert self._quantised is not None
        butterfly = (step.p | step.s) == 0
        shifts = [np.where(butterfly, 0, shift) for shift in (step.p_shift, step.s_shift)]
        columns = [*shifts, step.p, step.s]
        if (count := self._quantised.max_digits) is not None:
            columns[2:] = [*_digit_codes(step.p, count), *_digit_codes(step.s, count)]
        return self._place("numbers", np.stack(columns, 1).ravel())

    def _place(self, key: str, table: Numbers) -> int:
        """The offset of a table in one of the two arrays."""
        if key == "numbers":
            table = table.astype(np.int16 if self._quantised is not None else self.real)
        known = key, table.tobytes()
        if known not in self._at:
            self._at[known] = sum(len(part) for part in self._parts[key])
            self._parts[key].append(table)
        return self._at[known]


def _digit_codes(values: Numbers, count: int) -> Numbers:
    """Signed digits, one row for each: d > 0 is 2^(d - 1), d < 0 is -2^(-d - 1), zero is none."""
    codes = np.zeros((count, len(values)), np.int64)
    for k, value in enumerate(values.tolist()):
        for row, digit in enumerate(signed_digits(value)):
            codes[row, k] = abs(digit).bit_length() * (1 if digit > 0 else -1)
    return codes


def _narrow(table: Numbers) -> Numbers:
    """64-bit integers in the smallest type that holds them; other types stay."""
    return table.astype(_integer_type(table)) if table.dtype == np.int64 else table


def _integer_type(array: ArrayLike) -> str:
    low, high = int(np.min(array)), int(np.max(array))
    bits = next(b for b in (8, 16, 32) if -(2 ** (b - 1)) <= low and high < 2 ** (b - (low < 0)))
    return f"int{bits}" if low < 0 else f"uint{bits}"


def _declaration(name: str, array: Numbers) -> str:
    table = _narrow(array)
    kind = {"float32": "float", "float64": "double"}.get(table.dtype.name, f"{table.dtype.name}_t")
    shape = "".join(f"[{length}]" for length in table.shape)
    rows = [_braces(row) for row in table] if table.ndim == 2 else [_listed(table)]
    return f"static const {kind} {name}{shape} = {{\n" + ",\n".join(rows) + "\n};\n"


def _braces(row: Numbers) -> str:
    return "    {" + _listed(row).strip() + "}"


def _listed(row: Numbers) -> str:
    """Numbers in lines; floating-point numbers to the last bit."""
    if row.dtype.kind == "f":
        suffix = "f" if row.dtype == np.float32 else ""
        numbers = [np.format_float_scientific(v, unique=True, trim="0") + suffix for v in row]
    else:
        numbers = [str(v) for v in row.tolist()]
    step = 6 if row.dtype.kind == "f" else 16
    lines = (", ".join(numbers[k : k + step]) for k in range(0, len(numbers), step))
    return ",\n".join(f"    {line}" for line in lines)


def _calls(kinds: Sequence[str]) -> str:
    calls = [f"            @_{kind}(line, t, inverse);" for kind in kinds]
    if len(kinds) < 2:
        return calls[0] if calls else "            (void)line;"
    tests = [f"            if (t->kind == {k})\n    {call}" for k, call in enumerate(calls)]
    return "\n".join(tests)


def _member_texts(bank: bool) -> dict[str, str]:
    return {
        "MEMBER_ARG": "member, " if bank else "",
        "MEMBER_PARAMETER": "int member, " if bank else "",
        "FIRST_MEMBER": "0, " if bank else "",
        "MEMBER": "member" if bank else "0",
        "DECODED_MEMBER": "count > 0 ? (int)(index[0] / @@_N) : 0" if bank else "0",
        "RUN_BASE": "    @_run(work, -1, 0);\n" if bank else "",
        "RUN_BASE_BACK": "    @_run(y, -1, 1);\n" if bank else "",
    }


def _number_texts(quantised: Quantised | None) -> dict[str, object]:
    keys = ("LOAD", "STORE", "WEIGHT_TYPE", "ENERGY_TYPE", "ENERGY_SHIFT", "N_DIGITS", "N_NUMBERS")
    if quantised is None:
        return dict(zip(keys, ("", "", "@_value", "@_value", "", 1, 2), strict=True))
    digits, half = quantised.max_digits or 1, 1 << quantised.fraction_bits >> 1
    rounded = f"y[k] = (y[k] + {half}) >> @@_FRACTION_BITS;\n"
    load = " * (1 << @@_FRACTION_BITS)"
    store = f"    for (k = 0; k < @@_N; k++)\n        {rounded}"
    shift = f" >> {ENERGY_SHIFT}"
    texts = (load, store, "int32_t", "uint64_t", shift, digits, 2 + 2 * digits)
    return dict(zip(keys, texts, strict=True))


def _about(coder: Coder, quantised: Quantised | None) -> str:
    """A sentence without text from the model, which could end the comment."""
    kinds = {ascii(type(s).__name__)[1:-1] for m in coder.members for s in Chain([m]).stages}
    kind = ascii(type(coder).__name__)[1:-1]
    return (
        f"{kind} of {coder.n_features} features: {', '.join(sorted(kinds))}"
        f"{'' if quantised is None else ', in integer arithmetic'}."
    )


def _note(quantised: Quantised | None) -> str:
    if quantised is None:
        return ""
    return (
        " *\n * Integers: signals must be between -@@_MAX_INPUT and @@_MAX_INPUT. @_inverse undoes"
        " @_forward\n * exactly. @_decode gives signals times 2^@@_FRACTION_BITS. The range of"
        " signals is\n * not checked.\n"
    )


def _defines(quantised: Quantised | None) -> str:
    if quantised is None:
        return ""
    return (
        f"#define @@_FRACTION_BITS {quantised.fraction_bits}\n"
        f"#define @@_MAX_INPUT {quantised.max_input}\n"
    )


def _self_test(
    coder: Coder, real: np.dtype[np.generic], index: str, quantised: Quantised | None
) -> dict[str, object]:
    """Signals, and what fost computes for them."""
    n, s = coder.n_features, min(_TEST_ENTRIES, coder.n_features)
    rng = np.random.default_rng(0)
    signals: Numbers
    coefficients: Numbers
    if quantised is None:
        signals = rng.standard_normal((_N_TESTS, n)).astype(real)
        exact = signals.astype(np.float64)
        coefficients = coder.members[0].forward(exact)
        codes = coder.encode(exact, s)
        decoded = coder.decode(codes)
        # Errors of n rounded additions grow like sqrt(n).
        error = _TEST_ULPS * float(np.spacing(real.type(1))) * max(1.0, (n / 64) ** 0.5)
        tolerances = error * np.linalg.norm(exact, axis=1)
    else:
        most = quantised.max_input
        signals = rng.integers(-most, most + 1, (_N_TESTS, n))
        signals[1], signals[2] = most, most * (-1) ** np.arange(n)
        coefficients, codes = quantised.forward(signals), quantised.encode(signals, s)
        decoded = np.rint(quantised.decode(codes) * 2**quantised.fraction_bits)
        tolerances = np.zeros(_N_TESTS)
    counts = np.diff(codes.indptr)
    indices = np.zeros((_N_TESTS, s), np.int64)
    for row, kept in enumerate(np.split(codes.indices, codes.indptr[1:-1])):
        indices[row, : len(kept)] = kept
    tables = [
        _declaration(f"@_test_{key}", np.asarray(array).astype(dtype))
        for key, array, dtype in (
            ("signals", signals, real),
            ("coefficients", coefficients, real),
            ("decoded", decoded, real),
            ("tolerances", tolerances, np.float64),
            ("counts", counts, np.int64),
            ("indices", indices, np.int64),
        )
    ]
    return {"TEST_TABLES": "".join(tables), "N_TESTS": _N_TESTS, "TEST_S": s}


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    valid = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and len(name) <= _MAX_NAME
    if not valid:
        raise ValueError(
            f"name must be a C identifier of at most {_MAX_NAME} letters, digits and underscores "
            f"that begins with a letter, got {name!r}"
        )
    return name
