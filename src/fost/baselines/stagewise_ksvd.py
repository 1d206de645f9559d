"""Stagewise K-SVD as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fost._typing import Floats, Mask
from fost._validation import RandomState, check_flag, check_integer, check_number
from fost.baselines.estimator import DictionaryCallback, GeneralDictionaryEstimator
from fost.baselines.factorisation import Factorisation, leading_directions
from fost.baselines.ksvd import ksvd_iteration


class StagewiseKSVD(GeneralDictionaryEstimator):
    """Stagewise K-SVD (SK-SVD) for general dictionaries that grow in stages.

    SK-SVD (Rusu and Dumitrescu, 2012) starts from the s leading singular vectors of the data.
    Each stage drops the weakest atom and adds the leading singular vectors of the largest
    residuals. Then it updates the atoms by K-SVD.

    With ``n_final=0, drop_first=True`` it is the published algorithm. The errors of the defaults
    on patches of images are about one per cent lower.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms, at most 32,768, since the inner products of all pairs are kept. If None,
        the number of features.
    n_nonzero_coefs : int or None
        Entries per code, s. If None, a sixteenth of the features, but at least 4 if possible.
    atoms_per_stage : int
        Atoms that a stage adds, at least 2, since it drops one, too.
    full_every : int
        Every `full_every`-th stage runs K-SVD on all atoms and all signals. The other stages
        update the new atoms on the signals of the largest errors.
    n_inner : int
        Iterations of K-SVD at the start and in each stage.
    n_final : int
        Iterations of K-SVD after the last stage.
    drop_first : bool
        Whether residuals are computed after the weakest atom is dropped, or before.
    share : float
        The share of signals, those of the largest errors, that a stage adds atoms for.
    random_state : int, Generator, RandomState or None
        For the random signals that replace unused atoms.
    callback : callable, optional
        Called as ``callback(stage, error, dictionary)``; stops learning by returning True.
    verbose : bool
        Show progress on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array instead of an ndarray; dense by default, since
        many steps of a pipeline refuse sparse codes.

    Attributes
    ----------
    dictionary_ : GeneralDictionary
        The learned dictionary.
    components_ : ndarray of shape (n_components, n_features)
        Its atoms in rows, of norm one, by falling energy.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    error_ : float
        Relative error after the last iteration, or of the initial atoms if there was none.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each stage, while the dictionary grows, and after each final
        iteration.
    start_error_ : float
        Relative error of the initial atoms.
    n_iter_ : int
        Number of stages and final iterations.
    interrupted_ : bool
        Whether Ctrl-C ended the learning.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 16))
    >>> sksvd = fost.baselines.StagewiseKSVD(20, n_nonzero_coefs=3, random_state=0).fit(Y)
    >>> sksvd.components_.shape
    (20, 16)
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_nonzero_coefs: int | None = None,
        *,
        atoms_per_stage: int = 3,
        full_every: int = 3,
        n_inner: int = 15,
        n_final: int = 50,
        drop_first: bool = False,
        share: float = 0.05,
        random_state: RandomState = None,
        callback: DictionaryCallback | None = None,
        verbose: bool = False,
        sparse_output: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero_coefs = n_nonzero_coefs
        self.atoms_per_stage = atoms_per_stage
        self.full_every = full_every
        self.n_inner = n_inner
        self.n_final = n_final
        self.drop_first = drop_first
        self.share = share
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.sparse_output = sparse_output

    def _n_steps(self, n_components: int, s: int) -> int:
        check_integer(self.atoms_per_stage, "atoms_per_stage", 2, 2**31 - 1)
        check_integer(self.full_every, "full_every", 1, 2**31 - 1)
        check_integer(self.n_inner, "n_inner", 0, 2**31 - 1)
        n_final = check_integer(self.n_final, "n_final", 0, 2**31 - 1)
        check_flag(self.drop_first, "drop_first")
        check_number(self.share, "share", high=1, above=0)
        return self._n_stages(n_components, s) + n_final

    def _n_stages(self, n_components: int, s: int) -> int:
        # Python integers: small NumPy integers would overflow.
        return -(-(n_components - s) // (int(self.atoms_per_stage) - 1))

    def _start(
        self,
        Y: Floats,
        missing: Mask | None,
        n_components: int,
        s: int,
        random: np.random.Generator,
    ) -> Factorisation:
        state = Factorisation(Y, leading_directions(Y, s), s, missing)
        for _ in range(self.n_inner):
            ksvd_iteration(state, random)
        state.encode()
        return state

    def _step(self, state: Factorisation, step: int, random: np.random.Generator) -> None:
        n_components = int(self.n_components or state.Y.shape[1])
        n_stages = self._n_stages(n_components, state.s)
        if step <= n_stages:
            self._grow(state, random, full=step % self.full_every == 0)
            if step == n_stages:
                _keep_strongest(state, n_components)
        else:
            ksvd_iteration(state, random, encoded=step == n_stages + 1)

    def _grow(self, state: Factorisation, random: np.random.Generator, full: bool) -> None:
        """One stage, after which the signals are encoded with the new atoms."""
        weakest = int(np.argmin(state.atom_energies))
        kept = np.delete(state.atoms, weakest, axis=0)
        residual = state.residual_without(weakest) if self.drop_first else state.residual
        worst = self._largest_errors(state.Y, residual)
        new = leading_directions(residual[worst], int(self.atoms_per_stage))
        atoms = np.concatenate([kept, new.astype(kept.dtype)])
        if full:
            part, only = state, None
            state.set_atoms(atoms)
        else:
            part = state.subset(worst, atoms)
            only = np.arange(len(kept), len(atoms), dtype=np.int32)
        for inner in range(self.n_inner):
            ksvd_iteration(part, random, encoded=inner == 0, only=only)
        state.set_atoms(part.atoms)

    def _largest_errors(self, Y: Floats, residual: Floats) -> NDArray[np.intp]:
        """The signals with the largest ||residual||^2 / ||y||."""
        norms = np.linalg.norm(Y, axis=1)
        errors = np.square(residual, dtype=np.float64).sum(axis=1)
        ratios = np.divide(errors, norms, out=np.zeros_like(errors), where=norms > 0)
        count = max(1, round(float(self.share) * len(ratios)))
        return np.sort(np.argsort(ratios, kind="stable")[::-1][:count])

    def _finish(self, state: Factorisation, n_components: int) -> None:
        state.encode()
        _keep_strongest(state, n_components)


def _keep_strongest(state: Factorisation, count: int) -> None:
    """Sort the atoms by falling energy, keep at most `count` of them, and encode again."""
    strongest = np.argsort(-state.atom_energies, kind="stable")[:count]
    state.set_atoms(state.atoms[strongest])
