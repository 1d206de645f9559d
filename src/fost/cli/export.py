"""``fost export``: the C header of a model."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from fost.cli import options
from fost.cli.console import check_output, show_written
from fost.cli.errors import UserError, writing
from fost.cli.models import load_model


def export_command(
    model: options.ModelFile,
    output: options.Output,
    name: str = "transform",
    double: Annotated[
        bool, typer.Option("--double", help="Compute in float64 instead of float32.")
    ] = False,
    integers: Annotated[
        bool, typer.Option("--integers", help="Compute in 32-bit integers, with an exact inverse.")
    ] = False,
    bits: int = 8,
    fraction_bits: int = 4,
    max_digits: options.Count = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a C99 header with the forward, inverse, encode and decode functions of a model.

    The header needs no other files and allocates no memory. Compiled with -DFOST_SELF_TEST, it is
    a program that returns 0 if the functions reproduce results of fost.

    Parameters
    ----------
    name : NAME
        Prefix of all names in the header: a C identifier.
    bits : N
        Fraction bits of the coefficients, with --integers.
    fraction_bits : N
        Fraction bits of signals, with --integers.
    max_digits : K
        At most this many signed digits per coefficient, with --integers: shifts and additions only,
        for processors without a multiplier.
    """
    from fost.export import Quantised, to_c

    check_output(output, force)
    loaded = load_model(model)
    start = time.perf_counter()
    try:
        with writing(output):
            size = to_c(
                loaded.transform,
                output,
                name=name,
                dtype="float64" if double else "float32",
                integers=integers,
                bits=bits,
                fraction_bits=fraction_bits,
                max_digits=max_digits,
                overwrite=True,  # `check_output` has looked at --force
            )
    except TypeError as error:  # a union or a dictionary
        raise UserError(f"cannot export {str(model)!r}: {error}") from error
    lines = {
        "exported": f"{name}_forward, {name}_inverse, {name}_encode, {name}_decode",
        "flash": f"about {size.flash:,} bytes",
        "  of them tables": f"{size.tables:,} bytes",
        "work arrays": f"{size.stack:,} bytes on the stack",
    }
    max_input = None
    if integers:
        max_input = Quantised(loaded.transform, bits, fraction_bits, max_digits).max_input
        lines["signals"] = f"at most {max_input:,} in magnitude, which the C code does not check"
    facts = {
        "name": name,
        "flash": size.flash,
        "tables": size.tables,
        "stack": size.stack,
        "max_input": max_input,
    }
    show_written(lines, facts, output, start, as_json=as_json, quiet=quiet)
