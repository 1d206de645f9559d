"""``fost learn``: a transform from pictures or arrays."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from fost._progress import progress
from fost.cli import options
from fost.cli.bases import KNOWN
from fost.cli.console import check_output
from fost.cli.errors import Interrupted, UserError, complain
from fost.cli.outcome import report, usage_of
from fost.cli.plan import (
    AUTO,
    Plan,
    fixed_error,
    learn_best,
    learn_one,
    structure_help,
    structure_names,
)

_STRUCTURE_HELP = "What the transform is made of"


class LearnCommand(TyperCommand):
    """Looks up what structures there are when its help is asked for, and not before."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        explain_structures(self)
        super().format_help(ctx, formatter)


def explain_structures(command: TyperCommand) -> None:
    """Write the names of all structures, and what they are, into the help of `--structure`."""
    names = ", ".join(f"{name} ({summary})" for name, summary in structure_help().items())
    for parameter in command.params:
        if isinstance(parameter, TyperOption) and parameter.name == "structure":
            parameter.help = f"{_STRUCTURE_HELP}: {names}."


def learn(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUTS...",
            help="Pictures, or .npy or .zarr arrays with signals in rows.",
            show_default=False,
        ),
    ],
    output: options.Output,
    structure: Annotated[
        str,
        typer.Option(
            "--structure",
            metavar="NAME",
            help=f"{_STRUCTURE_HELP}.",
            autocompletion=structure_names,
        ),
    ] = "givens",
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            metavar="N",
            min=1,
            help="How many parts it is made of: rotations, reflectors or others; for banks and "
            "unions those of each member. If not given, what suits the signals.",
        ),
    ] = None,
    reflectors: Annotated[
        int | None,
        typer.Option(
            "--reflectors",
            metavar="M",
            min=1,
            help="The same as --size, for structures of reflectors only; chosen from the data if "
            "not given.",
        ),
    ] = None,
    rotations: Annotated[
        int | None,
        typer.Option(
            "--rotations",
            metavar="G",
            min=1,
            help="The same as --size, for structures of rotations only; as many as a signal has "
            "entries if not given.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(
            "--members",
            metavar="B",
            min=1,
            help="Transforms of the structures bank and union, and at most for auto, which tries "
            "single ones only with 1; 8 if not given.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="NAME",
            help=f"A fixed transform below the learned one: {KNOWN}. If not given, dct for auto "
            "and structures that are poor without a base (givens, bank, union), and none for the "
            "others.",
        ),
    ] = None,
    sparsity: Annotated[
        int | None,
        typer.Option(
            "--sparsity",
            "-s",
            metavar="S",
            min=1,
            help="Entries per code; 4 if not given. With --threshold, at most so many, and if not "
            "given as many as it takes.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="T",
            min=0.0,
            help="Codes keep all entries of a magnitude above this, each of which counts as much "
            "as a squared error of T squared.",
        ),
    ] = None,
    patch: Annotated[
        str | None,
        typer.Option(
            "--patch",
            metavar="HxW",
            help="Height and width of a patch; 8x8 for pictures if not given. For arrays, the "
            "shape that a signal has.",
        ),
    ] = None,
    stride: Annotated[
        str | None,
        typer.Option(
            "--stride",
            metavar="N",
            help="Steps from patch to patch, N or NxM; patches do not overlap if not given.",
        ),
    ] = None,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="K", min=1, help="Iterations at most.")
    ] = 100,
    max_flops: Annotated[
        int | None,
        typer.Option(
            "--max-flops", metavar="N", min=1, help="Operations per signal at most, for auto."
        ),
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(
            "--max-error",
            metavar="E",
            min=0.0,
            max=1.0,
            help="Relative error on held-out signals at most, for auto: the cheapest below it.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="For choices that are random.")
    ] = 0,
    checkpoint: options.Checkpoint = None,
    missing: options.Missing = None,
    scheduler: options.Scheduler = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a transform from pictures or from arrays of signals.

    Pictures are cut into patches, scaled to the range from 0 to 1, and the mean of each patch is
    removed; the patches of colours are those of luma and chroma. Arrays are used as they are,
    and stay on the disk, however large they are; what is missing of them, NaN or by --missing, does
    not count. Ctrl-C keeps the best transform so far; what
    was killed goes on from its checkpoint and ends with the same model.
    """
    sizes = {"": size, "reflectors": reflectors, "rotations": rotations}
    plan = Plan(structure, base, sizes, members, sparsity, iterations, seed, threshold)
    plan.check(max_flops, max_error, checkpoint)
    shape = options.parse_patch(patch) if patch else None
    step = options.parse_patch(stride, "--stride") if stride else None
    check_output(output, force)
    if checkpoint is not None:
        check_output(checkpoint, force=True)
    options.set_threads(threads)

    from fost.cli.cluster import connected

    with connected(scheduler):
        _learn(
            plan, inputs, shape, step, output, max_flops, max_error, checkpoint,
            masks=missing or [], on_cluster=scheduler is not None, as_json=as_json, quiet=quiet,
        )  # fmt: skip


def _learn(
    plan: Plan,
    inputs: list[Path],
    shape: tuple[int, int] | None,
    step: tuple[int, int] | None,
    output: Path,
    max_flops: int | None,
    max_error: float | None,
    checkpoint: Path | None,
    *,
    masks: list[Path],
    on_cluster: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from fost.cli.models import save_model
    from fost.cli.signals import load_signals
    from fost.learning import CheckpointError, InterruptedWarning

    start = time.perf_counter()
    with progress("reading", None, options.shown(quiet)):
        signals = load_signals(inputs, shape, step, (8, 8), on_cluster, masks)
    plan.check_signals(signals.n_features)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if plan.structure == AUTO:
                learned = learn_best(plan, signals, max_flops, max_error, quiet)
            else:
                learned = learn_one(plan, signals, checkpoint, quiet)
        except CheckpointError as error:
            raise UserError(str(error)) from error
        except ValueError as error:
            raise UserError(f"cannot learn from {_named(inputs)}: {error}") from error
    for warning in caught:
        if not issubclass(warning.category, InterruptedWarning | DeprecationWarning):
            complain(f"warning: {warning.message}")
    save_model(
        learned.transform,
        output,
        kind=signals.kind,
        patch=signals.patch,
        rule=plan.rule(signals.n_features),
        error=learned.error,
        usage=usage_of(learned.transform, signals, plan.rule(signals.n_features)),
    )
    if learned.interrupted:
        raise Interrupted(f"interrupted; the best transform so far is in {str(output)!r}")
    seconds = time.perf_counter() - start
    if as_json or not quiet:
        fixed = fixed_error(plan, signals)
        report(learned, fixed, signals, inputs, output, seconds, as_json, quiet)


def _named(paths: list[Path]) -> str:
    return repr(str(paths[0])) if len(paths) == 1 else f"these {len(paths)} files"
