"""Everything that the diagnostics know about a dictionary, as one page."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np
from numpy.typing import ArrayLike

from fost.diagnostics.bounds import SymmetricBound, symmetric_bound_of
from fost.diagnostics.coded import Coded, code
from fost.diagnostics.coherence import coherence_of
from fost.diagnostics.cosine import Cosine, cosine_of
from fost.diagnostics.disks import Gershgorin, gershgorin_of
from fost.diagnostics.eigenvalues import Spectrum, spectrum_of
from fost.diagnostics.findings import Finding, check_tolerance, counted, percent
from fost.diagnostics.operations import (
    batch_omp_flops,
    dense_flops,
    omp_cholesky_flops,
)
from fost.diagnostics.reflectors import (
    EachReflector,
    OneMoreReflector,
    each_reflector_of,
    one_more_reflector_of,
)
from fost.diagnostics.remarks import (
    Procrustes,
    Symmetry,
    procrustes_of,
    symmetry_of,
)
from fost.transforms import Transform

_WIDTH = 79
_LABEL = 20


@dataclass(frozen=True, eq=False, repr=False)
class Report(Finding):
    """All findings about a dictionary on signals; `str` is the page that `report` prints.

    Attributes
    ----------
    name : str
        What the dictionary is.
    n_signals, n_features, n_atoms, n_nonzero_coefs : int
    n_members : int
        Members of a bank; 1 for anything else.
    relative_error : float
        ||Y - D X||_F^2 / ||Y||_F^2.
    cosine : Cosine
        The DCT of the signals' shape: its `relative_error` with as many coefficients, `flops`.
    n_unused : int
        Atoms that no code uses.
    coherence : float or None
        Mutual coherence of the atoms; None for a bank, which never uses those of two members.
    flops : int
        Operations to code one signal: of the transform or the bank, or of Batch-OMP where there
        is neither.
    other_flops : dict
        The same of others: a dense orthonormal dictionary, the fast cosine transform of the
        signals' shape, OMP-Cholesky and Batch-OMP with as many atoms.
    one_more : OneMoreReflector
        Remark 4.
    procrustes : Procrustes or None
        Remark 3; None where there are more or fewer atoms than features.
    symmetry : Symmetry or None
        Remark 2; None where there are more or fewer atoms than features.
    gershgorin : Gershgorin or None
        Remark 1; None where the atoms are not orthonormal.
    each : EachReflector or None
        None where the dictionary is not made of reflectors.
    spectrum : Spectrum or None
        None where there are more or fewer atoms than features.
    bound : SymmetricBound or None
        Remark 5; None where there are more or fewer atoms than features.

    Examples
    --------
    >>> import fost, io, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> U = fost.learn(Y, fost.Reflectors(4), 2).transform
    >>> found = fost.diagnostics.report(U, Y, 2, file=io.StringIO())  # prints to stdout without
    >>> found.n_signals, found.n_atoms, found.n_nonzero_coefs
    (500, 16, 2)
    """

    name: str
    n_signals: int
    n_features: int
    n_atoms: int
    n_nonzero_coefs: int
    n_members: int
    relative_error: float
    cosine: Cosine = field(repr=False)
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
        """How many times as fast as the others the dictionary is."""
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
    base: Transform | None = None,
    tol: float = 1e-6,
    file: TextIO | None = None,
) -> Report:
    """Print everything that the diagnostics know about a dictionary, in plain words.

    Parameters
    ----------
    dictionary : Transform, Bank, fitted estimator, result of `learn`, or array of atoms in rows
        Estimators are those of fost, or any other with atoms in `components_`.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    signal_shape : int or tuple of int, optional
        Shape of a signal, such as (8, 8) for patches, whose DCT the dictionary is compared with;
        by default that of the estimator or of a DCT under the dictionary, else of one axis.
    base : Transform, optional
        A fixed transform under the dictionary, for `spectrum` and `symmetric_bound`; by default
        the estimator's.
    tol : float
        What counts as no gain, as a share of ||Y||_F^2.
    file : text file, optional
        Where to print; standard output if None.

    Returns
    -------
    Report
        All results, with their numbers.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> found = fost.diagnostics.report(fost.DCT(16), Y, 3)  # doctest: +ELLIPSIS
    DCT(n_features=16, shape=(16,), flops=118)
    on 500 signals of 16 features, 3 coefficients each
    ...
    >>> found.cosine.relative_error == found.relative_error
    True
    """
    if file is not None and not hasattr(file, "write"):
        raise TypeError(f"file must be a text file or None, got {file!r}")
    coded, tol = code(dictionary, Y, n_nonzero_coefs), check_tolerance(tol)
    found = _examine(coded, cosine_of(coded, Y, signal_shape, dictionary), base, tol)
    print(found, file=sys.stdout if file is None else file)
    return found


def _examine(coded: Coded, cosine: Cosine, base: Transform | None, tol: float) -> Report:
    form, n, s = coded.dictionary, coded.n_features, coded.n_nonzero_coefs
    batch = batch_omp_flops(n, s, form.n_atoms)
    flops = batch if form.coder is None else form.coder.flops
    n_members = 1 if form.coder is None else form.coder.n_members
    others = {
        "dense orthonormal": dense_flops(n),
        cosine.name: cosine.flops,
        "OMP-Cholesky": omp_cholesky_flops(n, s, form.n_atoms),
        "Batch-OMP": batch,
    }
    return Report(
        name=form.name,
        n_signals=coded.n_signals,
        n_features=n,
        n_atoms=form.n_atoms,
        n_nonzero_coefs=s,
        n_members=n_members,
        relative_error=coded.relative(coded.error),
        cosine=cosine,
        n_unused=int(np.sum(coded.atom_energies <= 0)),
        coherence=coherence_of(form) if n_members == 1 else None,
        flops=flops,
        other_flops=others,
        one_more=one_more_reflector_of(coded, tol),
        procrustes=procrustes_of(coded, tol) if form.is_square else None,
        symmetry=symmetry_of(coded, tol) if form.is_square else None,
        gershgorin=None if form.transform is None else gershgorin_of(coded, tol),
        each=each_reflector_of(coded, tol) if form.reflectors is not None else None,
        spectrum=spectrum_of(coded, base) if form.is_square else None,
        bound=symmetric_bound_of(coded, base) if form.is_square else None,
    )


def _page(found: Report) -> Iterator[str]:
    yield from textwrap.wrap(found.name, _WIDTH)
    yield (
        f"on {counted(found.n_signals, 'signal')} of {counted(found.n_features, 'feature')}, "
        f"{counted(found.n_nonzero_coefs, 'coefficient')} each"
    )
    yield from _section("Quality")
    lost, by_cosine = percent(found.relative_error), percent(found.cosine.relative_error)
    also = f"the DCT of {found.cosine.size} loses {by_cosine}"
    yield from _item("error", f"{lost} of the energy is lost; {also}.")
    yield from _item("atoms", _about_atoms(found))
    yield from _section("Cost: operations per signal, and how many times as fast this is")
    yield f"  {'this dictionary':<{_LABEL}}{found.flops:>11,}"
    for other, ratio in found.speedups.items():
        speed = f"{ratio:>9.3g} x" if np.isfinite(ratio) else ""
        yield f"  {other:<{_LABEL}}{found.other_flops[other]:>11,}{speed}"
    yield from _section("Is it a local minimum? (with the codes as they are)")
    yield from _item("one more reflector", found.one_more.sentence)
    if found.each is not None and found.each.n_reflectors:
        yield from _item("each reflector", found.each.sentence)
    if found.procrustes is not None and found.symmetry is not None:
        yield from _item("any orthonormal", found.procrustes.sentence)
        yield from _item("symmetry", found.symmetry.sentence)
    if found.gershgorin is not None:
        yield from _item("Gershgorin's disks", found.gershgorin.sentence)
    if found.spectrum is not None and found.bound is not None:
        yield from _section("How many reflectors? (for codes as these, from scratch)")
        yield from _item("spectrum", found.spectrum.sentence)
        yield from _item("limits", found.bound.sentence)


def _about_atoms(found: Report) -> str:
    used = (
        "each is used"
        if found.n_unused == 0
        else f"{found.n_unused} of them {'is' if found.n_unused == 1 else 'are'} never used"
    )
    if found.coherence is None:
        alike = f"of {found.n_members} orthonormal transforms"
    elif found.gershgorin is not None:
        alike = "orthonormal"
    else:
        alike = f"mutual coherence {found.coherence:.3g} (0 to 1)"
    return f"{found.n_atoms:,}, {alike}; {used}."


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
