"""All diagnostics of a dictionary on one page."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TextIO

import numpy as np
from numpy.typing import ArrayLike

from fost._validation import check_number, check_real, check_sizes
from fost.diagnostics.coherence import coherence_of_atoms
from fost.diagnostics.flops import batch_omp_flops, omp_cholesky_flops
from fost.diagnostics.local_minima import (
    Gershgorin,
    Procrustes,
    Symmetry,
    gershgorin_from_sums,
    procrustes_from_sums,
    symmetry_from_sums,
)
from fost.diagnostics.reflectors import (
    EachReflector,
    OneMoreReflector,
    each_reflector_from_sums,
    one_more_reflector_from_sums,
)
from fost.diagnostics.spectrum import (
    Spectrum,
    SymmetricBound,
    spectrum_from_sums,
    symmetric_bound_from_sums,
)
from fost.diagnostics.sums import CodingSums, DiagnosticResult, coding_sums, percent, plural
from fost.learning import as_training_data
from fost.transforms import DCT, Chain, Coder, Transform
from fost.transforms.coder import dense_flops

_WIDTH = 79
_LABEL = 20


@dataclass(frozen=True)
class DCTComparison:
    """Operations of the DCT, and its error on the same signals with as many coefficients."""

    shape: tuple[int, ...]
    flops: int
    relative_error: float

    @property
    def name(self) -> str:
        return f"{len(self.shape)}-D fast cosine"

    @property
    def size(self) -> str:
        """ "8 x 8"."""
        return " x ".join(map(str, self.shape))


@dataclass(frozen=True, eq=False, repr=False)
class Report(DiagnosticResult):
    """All diagnostics of a dictionary on signals; `str` is the page that `report` prints.

    Attributes
    ----------
    name : str
        The kind and the parameters of the dictionary.
    n_signals, n_features, n_atoms, n_nonzero_coefs : int
    n_members : int
        Members of a bank; 1 for anything else.
    relative_error : float
        ||Y - D X||_F^2 / ||Y||_F^2.
    dct : DCTComparison
        The DCT of the signals' shape: its `flops`, and its `relative_error` with as many
        coefficients.
    n_unused : int
        Atoms that no code uses.
    coherence : float or None
        Mutual coherence of the atoms; None for a bank, whose codes use atoms of one member only.
    flops : int
        Operations to encode one signal, `Coder.encode_flops`; those of Batch-OMP for an array.
    other_flops : dict
        Operations of a dense orthonormal dictionary, of the DCT of the signals' shape, and of
        OMP-Cholesky and Batch-OMP with as many atoms.
    one_more : OneMoreReflector
        Remark 4.
    procrustes : Procrustes or None
        Remark 3; None unless there are as many atoms as features.
    symmetry : Symmetry or None
        Remark 2; None unless there are as many atoms as features.
    gershgorin : Gershgorin or None
        Remark 1; None unless the atoms are orthonormal.
    each : EachReflector or None
        None unless the dictionary consists of reflectors.
    spectrum : Spectrum or None
        None unless there are as many atoms as features.
    bound : SymmetricBound or None
        Remark 5; None unless there are as many atoms as features.
    """

    name: str
    n_signals: int
    n_features: int
    n_atoms: int
    n_nonzero_coefs: int
    n_members: int
    relative_error: float
    dct: DCTComparison = field(repr=False)
    n_unused: int
    coherence: float | None
    flops: int
    other_flops: dict[str, int] = field(repr=False)
    one_more: OneMoreReflector = field(repr=False)
    procrustes: Procrustes | None = field(repr=False)
    symmetry: Symmetry | None = field(repr=False)
    gershgorin: Gershgorin | None = field(repr=False)
    each: EachReflector | None = field(repr=False)
    spectrum: Spectrum | None = field(repr=False)
    bound: SymmetricBound | None = field(repr=False)

    @property
    def speedups(self) -> dict[str, float]:
        """The ratios of `other_flops` to `flops`."""
        fast = self.flops or np.nan
        return {name: flops / fast for name, flops in self.other_flops.items()}

    @property
    def sentence(self) -> str:
        """The whole page."""
        return "\n".join(_page(self))


def report(
    dictionary: object,
    Y: ArrayLike,
    n_nonzero_coefs: int | None = None,
    *,
    signal_shape: int | tuple[int, ...] | None = None,
    base: str | Transform | None = None,
    tol: float = 1e-6,
    file: TextIO | None = None,
) -> Report:
    """Print all diagnostics of a dictionary in words.

    Parameters
    ----------
    dictionary : Transform, Bank, fitted estimator, result of `learn`, or array of atoms in rows
        Estimators of fost, or any others with atoms in `components_`.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    signal_shape : int or tuple of int, optional
        Shape of a signal, such as (8, 8) for patches. The dictionary is compared with the DCT of
        this shape. By default it is that of the estimator or of a DCT at the base of the
        dictionary, else that of one axis.
    base : Transform or str, optional
        A fixed transform below the reflectors, for `spectrum` and `symmetric_bound`; by default
        the estimator's.
    tol : float
        The largest gain that counts as zero, divided by ||Y||_F^2.
    file : text file, optional
        The file to print to; standard output if None.

    Returns
    -------
    Report
        The results of all functions as attributes: `relative_error`, `dct`, `flops`, `speedups`,
        `one_more`, `each`, `procrustes`, `symmetry`, `gershgorin`, `spectrum`, `bound`.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> found = fost.diagnostics.report(fost.DCT(16), Y, 3)  # doctest: +ELLIPSIS
    DCT(n_features=16, shape=(16,), flops=118)
    on 500 signals of 16 features, 3 coefficients each
    ...
    >>> found.dct.relative_error == found.relative_error
    True
    """
    if file is not None and not hasattr(file, "write"):
        raise TypeError(f"file must be a text file or None, got {file!r}")
    sums, tol = coding_sums(dictionary, Y, n_nonzero_coefs), check_number(tol, "tol", 0)
    if signal_shape is None:
        signal_shape = getattr(dictionary, "signal_shape", None)
    found = _diagnose(sums, _compare_with_dct(sums, Y, signal_shape), base, tol)
    print(found, file=sys.stdout if file is None else file)
    return found


def _compare_with_dct(
    sums: CodingSums, Y: ArrayLike, signal_shape: int | tuple[int, ...] | None
) -> DCTComparison:
    """The DCT of the given shape, else of that of a DCT at the base of the dictionary."""
    n = sums.n_features
    shape: tuple[int, ...] = (n,)
    if signal_shape is not None:
        shape = check_sizes(signal_shape, "signal_shape")
        if prod(shape) != n:
            raise ValueError(
                f"signal_shape={signal_shape} has {prod(shape)} entries, but Y has {n} features"
            )
    elif sums.dictionary.coder is not None:
        shape = _base_shape(sums.dictionary.coder) or shape
    dct = DCT(shape)
    found = as_training_data(check_real(Y, "Y")).statistic(None, dct, min(sums.n_nonzero_coefs, n))
    return DCTComparison(shape, dct.flops, sums.relative(max(0.0, sums.total - found.energy)))


def _base_shape(coder: Coder) -> tuple[int, ...] | None:
    """The signal shape of the DCT at the base of a coder, if there is one."""
    first = coder.members[0]
    base = first.stages[0] if isinstance(first, Chain) else first
    return base.shape if isinstance(base, DCT) else None


def _diagnose(
    sums: CodingSums, dct: DCTComparison, base: str | Transform | None, tol: float
) -> Report:
    form, n, s = sums.dictionary, sums.n_features, sums.n_nonzero_coefs
    batch = batch_omp_flops(n, s, form.n_atoms)
    coder = form.pursuit if form.coder is None else form.coder
    flops = batch if coder is None else coder.encode_flops(s)
    n_members = 1 if form.coder is None else form.coder.n_members
    others = {
        "dense orthonormal": dense_flops(n),
        dct.name: dct.flops,
        "OMP-Cholesky": omp_cholesky_flops(n, s, form.n_atoms),
        "Batch-OMP": batch,
    }
    return Report(
        name=form.name,
        n_signals=sums.n_signals,
        n_features=n,
        n_atoms=form.n_atoms,
        n_nonzero_coefs=s,
        n_members=n_members,
        relative_error=sums.relative(sums.error),
        dct=dct,
        n_unused=int(np.sum(sums.atom_energies <= 0)),
        coherence=coherence_of_atoms(form.atoms) if n_members == 1 else None,
        flops=flops,
        other_flops=others,
        one_more=one_more_reflector_from_sums(sums, tol),
        procrustes=procrustes_from_sums(sums, tol) if form.is_square else None,
        symmetry=symmetry_from_sums(sums, tol) if form.is_square else None,
        gershgorin=None if form.transform is None else gershgorin_from_sums(sums, tol),
        each=(None if form.split_reflectors()[1] is None else each_reflector_from_sums(sums, tol)),
        spectrum=spectrum_from_sums(sums, base) if form.is_square else None,
        bound=symmetric_bound_from_sums(sums, base) if form.is_square else None,
    )


def _page(found: Report) -> Iterator[str]:
    yield from textwrap.wrap(found.name, _WIDTH)
    yield (
        f"on {plural(found.n_signals, 'signal')} of {plural(found.n_features, 'feature')}, "
        f"{plural(found.n_nonzero_coefs, 'coefficient')} each"
    )
    yield from _section("Quality")
    lost, lost_by_dct = percent(found.relative_error), percent(found.dct.relative_error)
    dct = f"the DCT of {found.dct.size} loses {lost_by_dct}"
    yield from _item("error", f"{lost} of the energy is lost; {dct}.")
    yield from _item("atoms", _describe_atoms(found))
    yield from _section("Cost: operations per signal, and the speed-up over other methods")
    yield f"  {'this dictionary':<{_LABEL}}{found.flops:>11,}"
    for other, ratio in found.speedups.items():
        speed = f"{ratio:>9.3g} x" if np.isfinite(ratio) else ""
        yield f"  {other:<{_LABEL}}{found.other_flops[other]:>11,}{speed}"
    yield from _section("Is it a local minimum? (for fixed codes)")
    yield from _item("one more reflector", found.one_more.sentence)
    if found.each is not None and found.each.n_reflectors:
        yield from _item("each reflector", found.each.sentence)
    if found.procrustes is not None and found.symmetry is not None:
        yield from _item("any orthonormal", found.procrustes.sentence)
        yield from _item("symmetry", found.symmetry.sentence)
    if found.gershgorin is not None:
        yield from _item("Gershgorin disks", found.gershgorin.sentence)
    if found.spectrum is not None and found.bound is not None:
        yield from _section("How many reflectors? (for these codes)")
        yield from _item("spectrum", found.spectrum.sentence)
        yield from _item("limits", found.bound.sentence)


def _describe_atoms(found: Report) -> str:
    used = (
        "each is used"
        if found.n_unused == 0
        else f"{found.n_unused} of them {'is' if found.n_unused == 1 else 'are'} never used"
    )
    if found.coherence is None:
        kind = f"of {found.n_members} orthonormal transforms"
    elif found.gershgorin is not None:
        kind = "orthonormal"
    else:
        kind = f"mutual coherence {found.coherence:.3g} (0 to 1)"
    return f"{found.n_atoms:,}, {kind}; {used}."


def _section(title: str) -> Iterator[str]:
    yield ""
    yield title


def _item(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=f"  {label:<{_LABEL}}",
        subsequent_indent=" " * (_LABEL + 2),
    )
