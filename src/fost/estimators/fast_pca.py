"""Principal component analysis with a fast transform."""

from __future__ import annotations

from math import ceil, isqrt, log2
from typing import Literal, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import check_integer
from fost.approximation.eigh import check_base
from fost.approximation.rotation_search import RotationSearch, conjugated
from fost.estimators.base import errors_naming_signals
from fost.learning.rotations import check_rotations
from fost.transforms import DCT, Transform, with_base

# n_rotations="auto": the part of the variance of exact PCA that is captured.
_AUTO_VARIANCE = 0.95


class FastPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Principal component analysis by a chain of rotations that is fast to apply.

    Maximises the captured variance :math:`\sum_{i \in P} (U^T C U)_{ii}` of `n_components` columns
    P of a chain U of rotations, where C is the covariance of the signals. This captures more than
    the chain closest to the principal components.

    It pays for many features and many components, since all coefficients are computed. For few
    components, `sklearn.decomposition.PCA` is faster. That class also has ``whiten``, ``score``,
    ``partial_fit`` and a share of the variance as `n_components`; this one does not.

    Parameters
    ----------
    n_components : int or None
        Number of components; None means min(n_signals, n_features). If all n features are
        components, any transform captures all of the variance: there are no rotations.
    n_rotations : int or "auto"
        Number of rotations. ``"auto"`` adds rotations until 95 % of the variance that PCA captures
        is captured, at most n log2 n.
    base : Transform, {"auto", "dct", "hadamard", "wavelet", "none"} or None
        A fast transform under the rotations; names mean signals of one axis. ``"auto"`` tries none,
        the DCT and, if n is a square number, the DCT of square images. It keeps the one that
        captures most variance.

    Attributes
    ----------
    transform_ : Givens or Chain
        The orthonormal transform U of all features.
    selected_ : ndarray of shape (n_components,)
        The columns of U that are components, by decreasing variance.
    components_ : ndarray of shape (n_components, n_features)
        These columns as rows.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        The variance of each component, and its part of the total variance. Components may be
        correlated.
    mean_ : ndarray of shape (n_features,)
        The mean of the signals.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import fost
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> pca = fost.FastPCA(16, n_rotations=32, base=fost.DCT((8, 8))).fit(X)
    >>> pca.transform(X).shape
    (1797, 16)
    >>> bool(pca.explained_variance_ratio_.sum() > 0.7)
    True

    The default, all components, is a transform without rotations:

    >>> fost.FastPCA().fit(X).transform_
    Givens(n_features=64, n_rotations=0, flops=0)
    """

    transform_: Transform

    def __init__(
        self,
        n_components: int | None = None,
        n_rotations: int | Literal["auto"] = "auto",
        base: str | Transform | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_rotations = n_rotations
        self.base = base

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Find the transform for signals X of shape (n_signals, n_features), at least two."""
        with errors_naming_signals(self, X):
            rows: Floats = validate_data(
                self, X, dtype=[np.float64, np.float32], ensure_min_samples=2
            )
        n, most = rows.shape[1], min(rows.shape)
        count = most
        if self.n_components is not None:
            name = "min(n_signals, n_features)"
            count = check_integer(self.n_components, "n_components", 1, most, name)
        n_rotations, wanted = ceil(n * log2(n)), np.inf
        auto = isinstance(self.n_rotations, str) and self.n_rotations == "auto"
        if not auto:
            n_rotations = check_rotations(self.n_rotations, "n_rotations", n)
        bases: list[Transform | None]
        if isinstance(self.base, str) and self.base == "auto":
            side = isqrt(n)
            bases = [None, DCT(n), *([DCT((side, side))] if side**2 == n > 1 else [])]
        else:
            bases = [check_base(self.base, n, "X")]
        with single_threaded_blas:
            self.mean_ = rows.mean(axis=0, dtype=np.float64)
            centred = rows - self.mean_
            scale = float(np.abs(centred).max()) or 1.0
            centred /= scale
            C = centred.T @ centred / (len(rows) - 1)
            if auto:
                top = scipy.linalg.eigvalsh(C, subset_by_index=[n - count, n - 1])
                wanted = _AUTO_VARIANCE * float(top.sum())
            found = [_captured(C, base, count, n_rotations, wanted) for base in bases]
        # The most variance, and the fewest rotations where all bases reach the wanted variance.
        variances, self.transform_, self.selected_ = max(
            found, key=lambda item: (min(item[0].sum(), wanted), -item[1].flops)
        )
        self.explained_variance_ = variances * scale**2
        self.explained_variance_ratio_ = variances / (float(np.trace(C)) or 1.0)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Components, of shape (n_signals, n_components), of signals X in rows."""
        check_is_fitted(self)
        with errors_naming_signals(self, X):
            rows: Floats = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        centred = rows - self.mean_.astype(rows.dtype)
        return self.transform_.forward(centred)[:, self.selected_]

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Signals, of shape (n_signals, n_features), with the components X in rows."""
        check_is_fitted(self)
        with errors_naming_signals(self, X):
            rows: Floats = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if rows.shape[1] != len(self.selected_):
            raise ValueError(
                f"X has {rows.shape[1]} components, but FastPCA has {len(self.selected_)}"
            )
        coefficients = np.zeros((len(rows), self.n_features_in_), rows.dtype)
        coefficients[:, self.selected_] = rows
        signals: Floats = self.transform_.inverse(coefficients) + self.mean_.astype(rows.dtype)
        return signals

    @property
    def components_(self) -> NDArray[np.float64]:
        """The components in rows, shape (n_components, n_features)."""
        return self.transform_.matrix.T[self.selected_]

    @property
    def _n_features_out(self) -> int:
        return len(self.selected_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _captured(
    C: NDArray[np.float64], base: Transform | None, count: int, n_rotations: int, wanted: float
) -> tuple[NDArray[np.float64], Transform, NDArray[np.int64]]:
    """The variances of the components, U and the columns of U that are components."""
    C = conjugated(C, base)
    selected = np.argsort(-np.diagonal(C), kind="stable")[:count]
    weights = np.zeros(len(C))
    weights[selected] = 1
    search = RotationSearch(C, weights, allowed=-wanted)
    if count < len(C):
        for _ in search.steps(n_rotations, "insert", refine=True):
            pass
    U = search.best[2]
    variances = np.maximum(np.diagonal(conjugated(C, U))[selected], 0.0)
    order = np.argsort(-variances, kind="stable")
    return variances[order], with_base(base, U), selected[order]
