"""``fost learn``: a transform from images or arrays."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, show_written
from fost.cli.errors import Interrupted, UserError, print_line
from fost.cli.models import check_base, load_base, reference_dct, save_model
from fost.cli.signals import Signals, Windows, dask_cluster, load_signals

if TYPE_CHECKING:
    from fost.coding.selection import SelectionRule
    from fost.learning.registry import RegisteredStructure
    from fost.learning.structure import Structure
    from fost.transforms import Coder

# Values of --structure besides the names of registered structures.
_BANK, _UNION, _CIRCULANTS, _AUTO = "bank", "union", "circulants", "auto"
# The members of banks and unions, and their default number.
_MEMBER, _N_MEMBERS = "givens", 8
_N_NONZERO_COEFS = 4
# Signals from which the usage of the members of a bank and the share of the mean are estimated.
_SAMPLED_SIGNALS = 65536
# A share of the energy of signals above which their mean hides the rest.
_LARGE_MEAN = 0.9


class LearnCommand(options.DocumentedCommand):
    """A command that looks up the registered structures only when its help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        explain_structures(self)
        super().format_help(ctx, formatter)


def explain_structures(command: TyperCommand) -> None:
    """Add the names and summaries of all structures to the help of `--structure`."""
    summaries = {
        **{name: kind.summary for name, kind in sorted(known_structures().items())},
        _BANK: f"several of {_MEMBER}, each signal uses the best",
        _UNION: f"several of {_MEMBER}, each signal mixes atoms of all by matching pursuit",
        _CIRCULANTS: "all shifts of several kernels, by matching pursuit",
        _AUTO: "the best of all these, sparse K-SVD and K-SVD on held-out signals",
    }
    names = ", ".join(f"{name} ({summary})" for name, summary in summaries.items())
    for parameter in command.params:
        if isinstance(parameter, TyperOption) and parameter.name == "structure":
            summary = (parameter.help or "").partition(":")[0]
            parameter.help = f"{summary}: {names}."


def known_structures() -> dict[str, RegisteredStructure]:
    """The registered structures by name, including those of other packages."""
    from fost.learning.registry import load_entry_points, registered_structures

    load_entry_points()
    return registered_structures()


def _structure_names() -> list[str]:
    return [*sorted(known_structures()), _BANK, _UNION, _CIRCULANTS, _AUTO]


def learn_command(
    inputs: list[Path],
    output: options.Output,
    structure: Annotated[str, typer.Option(autocompletion=_structure_names)] = "givens",
    size: options.Count = None,
    n_reflectors: options.Count = None,
    n_rotations: options.Count = None,
    n_members: options.Count = None,
    base: str = "auto",
    n_nonzero_coefs: options.NonzeroCoefs = None,
    threshold: options.Nonnegative = None,
    patch_shape: str | None = None,
    stride: str | None = None,
    window: options.Count = None,
    hop: options.Count = None,
    exclude: options.Exclude = None,
    channel_axis: options.ChannelAxis = None,
    max_iter: Annotated[int, typer.Option(min=1)] = 1000,
    max_flops: options.Count = None,
    max_relative_error: Annotated[float | None, typer.Option(min=0.0, max=1.0)] = None,
    criterion: str | None = None,
    budget: options.Nonnegative = None,
    random_state: Annotated[int, typer.Option(min=0)] = 0,
    checkpoint: options.Checkpoint = None,
    missing: options.Missing = None,
    scheduler: options.Scheduler = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a transform from images or from arrays of signals.

    Images are scaled to the range from 0 to 1 and cut into patches, and the mean of each patch is
    removed. Colours are converted to luma and chroma. Arrays are used unchanged and may be larger
    than memory. Recordings are cut into windows, each channel or column by itself. Missing entries
    of arrays, NaN or given by --missing, are ignored. Ctrl-C keeps the best transform so far. A
    killed process resumes from its checkpoint and ends with the same model. The relative error is
    that of the training signals; auto adds the error of its choice on held-out signals.

    Parameters
    ----------
    inputs : INPUTS...
        Images; .npy or .zarr arrays with signals in rows, or .csv tables. Or recordings with
        --window: .wav, .csv, one-dimensional .npy or .zarr, or two-dimensional with --channel-axis.
    structure : NAME
        The structure of the transform
    size : N
        The number of rotations, reflectors or other parts; for banks and unions those of each
        member. If not given, it is chosen by the structure.
    n_reflectors : M
        The same as --size, for structures of reflectors only.
    n_rotations : G
        The same as --size, for structures of rotations only; the number of features if not given.
    n_members : B
        Number of members of a bank or union, or of kernels of circulants; 8 if not given. For auto
        it is the maximum. With 1, auto tries no banks or dictionaries for matching pursuit.
    base : NAME
        A fixed transform below the learned one: auto, none, dct, hadamard, wavelet, wavelet:NAME
        (such as wavelet:haar) or a model file. For givens, bank and union, auto compares none, dct
        and wavelet on some of the signals; the other structures have no base then.
    n_nonzero_coefs : S
        Entries per code; 4 if not given. With --threshold it is the maximum, and unlimited if not
        given.
    threshold : T
        Codes keep all entries whose magnitude is above this; each entry costs T squared.
    patch_shape : HxW
        Height and width of a patch; 8x8 for images if not given. For arrays, the shape of a
        signal.
    stride : N
        Step from patch to patch, N or NxM; patches do not overlap if not given.
    window : N
        Samples of a signal, for recordings.
    hop : N
        Step from window to window; windows do not overlap if not given.
    max_iter : K
        Maximum number of iterations.
    max_flops : N
        Maximum operations per signal, for auto.
    max_relative_error : E
        Choose the cheapest transform whose relative error on held-out signals is at most this,
        for auto.
    criterion : NAME
        The cost that --budget limits, for auto: flops, bits (to store the model) or time.
    budget : N
        Maximum operations per signal, bits, or measured nanoseconds per signal, for auto.
    random_state : N
        The seed of random choices.
    """
    config = LearnConfig(
        structure=structure,
        sizes={"--size": size, "--n-reflectors": n_reflectors, "--n-rotations": n_rotations},
        n_members=n_members,
        base=base,
        n_nonzero_coefs=n_nonzero_coefs,
        threshold=threshold,
        max_iter=max_iter,
        max_flops=max_flops,
        max_relative_error=max_relative_error,
        criterion=criterion,
        budget=budget,
        random_state=random_state,
        checkpoint=checkpoint,
    )
    config.check()
    shape = options.parse_shape(patch_shape, "--patch-shape") if patch_shape else None
    step = options.parse_shape(stride, "--stride") if stride else None
    check_output(output, force)
    if checkpoint is not None:
        check_output(checkpoint, force=True)
    options.set_threads(threads)
    start, on_cluster = time.perf_counter(), scheduler is not None
    with dask_cluster(scheduler):
        with progress("reading", None, options.shown(quiet)):
            signals = load_signals(
                inputs,
                shape,
                step,
                windows=Windows(window, hop, exclude or [], channel_axis),
                masks=missing or [],
                on_cluster=on_cluster,
            )
        learned = _learn(config, signals, inputs, quiet)
        rule = config.rule(signals.n_features)
        save_model(
            learned.transform,
            output,
            signals=signals.kind,
            patch_shape=signals.patch_shape,
            rule=rule,
            relative_error=learned.error,
            usage=_usage(learned.transform, signals, rule),
        )
        if learned.interrupted:
            raise Interrupted(f"interrupted; the best transform so far is in {str(output)!r}")
        if as_json or not quiet:  # the error of the DCT takes a pass over the signals
            lines, facts = _describe_learned(learned, signals, rule)
            facts["inputs"] = inputs
            show_written(lines, facts, output, start, as_json=as_json, quiet=quiet)
            if signals.kind == "array" and (share := _mean_share(signals)) > _LARGE_MEAN:
                print_line(
                    f"warning: the mean of the signals has {share:.1%} of their energy; subtract "
                    "it from the signals before learning, or the relative error says little"
                )


@dataclass(frozen=True)
class LearnConfig:
    """The options of learning; `sizes` are those of the structure, by the name of the option."""

    structure: str
    sizes: dict[str, int | None]
    n_members: int | None
    base: str
    n_nonzero_coefs: int | None
    threshold: float | None
    max_iter: int
    max_flops: int | None
    max_relative_error: float | None
    criterion: str | None
    budget: float | None
    random_state: int
    checkpoint: Path | None

    def check(self) -> None:
        """Raise a UserError for options that do not go together."""
        name = self.structure
        if name not in _structure_names():
            known = ", ".join(_structure_names())
            raise UserError(f"--structure must be one of {known}, got {name!r}")
        self._check_sizes()
        check_base(self.base)
        if name == _AUTO and self.base not in ("auto", "dct", "none"):
            raise UserError(
                f"--base must be auto, dct or none for the structure auto, got {self.base!r}"
            )
        if self.n_members is not None and name not in (_BANK, _UNION, _CIRCULANTS, _AUTO):
            raise UserError(
                f"--n-members is for the structures bank, union, circulants and auto, "
                f"not for {name}"
            )
        limits = {
            "--max-flops": self.max_flops,
            "--max-relative-error": self.max_relative_error,
            "--criterion": self.criterion,
            "--budget": self.budget,
        }
        if set(limits.values()) != {None} and name != _AUTO:
            raise UserError(f"{', '.join(limits)} are for the structure auto, not for {name}")
        if self.threshold is not None and name in (_UNION, _CIRCULANTS):
            raise UserError(f"--threshold is not for the structure {name}, which uses pursuit")
        if self.checkpoint is not None and name == _AUTO:
            raise UserError("--checkpoint is not for the structure auto")

    def _check_sizes(self) -> None:
        """At most one size is given, and the structure has parts of that kind."""
        given = [option for option, size in self.sizes.items() if size is not None]
        if len(given) > 1:
            raise UserError(f"give only one of {' and '.join(given)}")
        parts = {name: kind.structure.parts for name, kind in known_structures().items()}
        parts[_BANK] = parts[_UNION] = parts[_MEMBER]
        for option in given:
            names = [
                name for name, own in parts.items() if own and option in ("--size", f"--n-{own}")
            ]
            if self.structure not in names:
                raise UserError(
                    f"{option} is for the structures {' and '.join(names)}, "
                    f"not for {self.structure}"
                )

    def check_signals(self, n_features: int) -> None:
        """Raise a UserError for numbers that are too large for the signals."""
        s = self.rule(n_features).s
        if s > n_features:
            raise UserError(
                f"--n-nonzero-coefs must be at most the {n_features} entries of a signal, got {s}"
            )
        if self.size is None:
            return
        sizes = self._kind.structure.candidate_sizes(n_features, self.base != "none")
        if sizes is not None and self.size > sizes.max_size:
            option = next(option for option, size in self.sizes.items() if size is not None)
            raise UserError(
                f"{option} must be at most {sizes.max_size} for signals of {n_features} entries, "
                f"got {self.size}"
            )

    def rule(self, n_features: int) -> SelectionRule:
        """The selection rule of codes."""
        from fost.coding.selection import SelectionRule

        default = _N_NONZERO_COEFS if self.threshold is None else n_features
        return SelectionRule(self.n_nonzero_coefs or default, threshold=self.threshold)

    @property
    def size(self) -> int | None:
        return next((size for size in self.sizes.values() if size is not None), None)

    @property
    def _kind(self) -> RegisteredStructure:
        """The structure, or that of the members of a bank or union."""
        return known_structures()[_MEMBER if self.structure in (_BANK, _UNION) else self.structure]

    def make_structure(self, n_features: int) -> Structure:
        """The structure as `fost.learn` takes it."""
        import fost

        count = self.n_members or _N_MEMBERS
        if self.structure == _CIRCULANTS:
            return fost.Circulants(count)
        try:
            member = self._kind.of_size(self.size, n_features)
        except TypeError as error:
            raise UserError(f"cannot use --structure {self.structure}: {error}") from error
        if self.structure == _UNION:
            return fost.UnionOf(member, count)
        return fost.BankOf(member, count) if self.structure == _BANK else member


@dataclass(frozen=True)
class LearnedModel:
    """The learned transform; `converged` and `held_out_error` are None where not known."""

    transform: Coder
    error: float
    n_iter: int
    converged: bool | None
    interrupted: bool
    held_out_error: float | None = None


def _learn(config: LearnConfig, signals: Signals, inputs: list[Path], quiet: bool) -> LearnedModel:
    from fost.learning import CheckpointError, InterruptedWarning

    config.check_signals(signals.n_features)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            learn = _learn_best if config.structure == _AUTO else _learn_structure
            learned = learn(config, signals, quiet)
        except (CheckpointError, UserError):
            raise
        except ValueError as error:
            several = f"these {len(inputs)} files"
            named = repr(str(inputs[0])) if len(inputs) == 1 else several
            raise UserError(f"cannot learn from {named}: {error}") from error
    for warning in caught:
        if not issubclass(warning.category, InterruptedWarning | DeprecationWarning):
            print_line(f"warning: {warning.message}")
    return learned


def _learn_structure(config: LearnConfig, signals: Signals, quiet: bool) -> LearnedModel:
    """Learn a transform of one structure."""
    import fost
    from fost.learning.circulant import N_STARTS

    n = signals.n_features
    rule = config.rule(n)
    first = True
    with progress("iteration", config.max_iter, options.shown(quiet)) as advance:

        def report(k: int, error: float, _: Coder) -> None:
            nonlocal first
            if first and k > 1 and not quiet:
                print_line(f"resumed at iteration {k - 1:,}")
            first = False
            advance(k, f"relative error {error:.4%}")

        result = fost.learn(
            signals.rows,
            config.make_structure(n),
            rule.s,
            threshold=rule.threshold,
            missing=signals.missing,
            base=load_base(config.base),
            signal_shape=signals.patch_shape or n,
            n_init=N_STARTS if config.structure == _CIRCULANTS else 1,
            max_iter=config.max_iter,
            random_state=config.random_state,
            checkpoint=config.checkpoint,
            callback=report,
        )
    error = result.error
    if rule.threshold is not None:  # without the cost of entries
        error = signals.source.relative_error(result.transform, rule)
    return LearnedModel(
        result.transform, error, result.n_iter, result.converged, result.interrupted
    )


def _learn_best(config: LearnConfig, signals: Signals, quiet: bool) -> LearnedModel:
    """Learn transforms of all structures and choose the best for a budget."""
    from sklearn.exceptions import ConvergenceWarning

    import fost

    n = signals.n_features
    rule = config.rule(n)
    auto = fost.AutoDictionary(
        rule.s,
        None if config.base == "none" else signals.patch_shape or n,
        "auto" if config.max_flops is None else config.max_flops,
        config.max_relative_error,
        config.n_members or "auto",
        criterion=config.criterion,  # type: ignore[arg-type]
        budget=config.budget,
        max_iter=config.max_iter,
        random_state=config.random_state,
        verbose=options.shown(quiet),
        threshold=rule.threshold,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the user chose --max-iter
        auto.fit(signals.rows if signals.missing is None else signals.source.stream)
    error, held_out = auto.error_, auto.chosen_.held_out_error
    if rule.threshold is not None:  # without the cost of entries
        error = signals.source.relative_error(auto.dictionary_, rule)
    return LearnedModel(
        auto.dictionary_,
        error,
        auto.n_iter_,
        None,
        auto.interrupted_,
        held_out if rule.threshold is None else None,  # it includes the cost of entries
    )


def _usage(coder: Coder, signals: Signals, rule: SelectionRule) -> list[float] | None:
    """The share of signals that use each member of a bank, from a sample."""
    import numpy as np

    from fost.transforms import Bank

    if not isinstance(coder, Bank):
        return None
    rows = signals.source.sample(_SAMPLED_SIGNALS).rows()
    missing = None if signals.missing is None else "nan"
    members = coder.chosen(coder.encode(rows, rule.s, threshold=rule.threshold, missing=missing))
    counts = np.bincount(members, minlength=coder.n_members)
    return [float(count) / len(rows) for count in counts]


def _mean_share(signals: Signals) -> float:
    """The share of the energy of the signals that their mean has, estimated from a sample."""
    import numpy as np

    rows = np.nan_to_num(signals.source.sample(_SAMPLED_SIGNALS).rows().astype(np.float64))
    energy = np.square(rows).sum() / len(rows)
    return float(np.square(rows.mean(axis=0)).sum() / (energy or 1.0))


def _describe_learned(
    learned: LearnedModel, signals: Signals, rule: SelectionRule
) -> tuple[dict[str, str], dict[str, object]]:
    """A learned transform in lines for people, and as data."""
    from fost.transforms.bases import base_of, describe_base
    from fost.transforms.coder import dense_flops

    transform, n = learned.transform, signals.n_features
    base = describe_base(base_of(transform))
    dct = reference_dct(signals.patch_shape or n)
    dct_error = None if dct is None else signals.source.relative_error(dct, rule)
    shape = signals.patch_shape
    patches = f" ({options.format_shape(shape)} patches)" if shape else ""
    compared = "" if dct_error is None else f" (the DCT alone: {dct_error:.4%})"
    stopped = {True: ", converged", False: ", not converged", None: ""}[learned.converged]
    share, held_out = transform.flops / dense_flops(n), learned.held_out_error
    lines = {
        "learned": repr(transform),
        "base": base,
        "from": f"{signals.n_signals:,} signals of {n} entries{patches}",
        "relative error": f"{learned.error:.4%} of the training signals{compared}",
        **({} if held_out is None else {"held-out error": f"{held_out:.4%}"}),
        "iterations": f"{learned.n_iter}{stopped}",
        "operations": f"{transform.flops:,} per signal ({share:.1%} of a dense matrix)",
    }
    facts: dict[str, object] = {
        "transform": repr(transform),
        "base": base,
        "n_signals": signals.n_signals,
        "n_features": n,
        "patch_shape": shape,
        "relative_error": learned.error,
        "held_out_relative_error": held_out,
        "dct_relative_error": dct_error,
        "n_iter": learned.n_iter,
        "converged": learned.converged,
        "flops": transform.flops,
        "n_parameters": transform.n_parameters,
    }
    return lines, facts
