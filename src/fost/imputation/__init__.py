"""Imputation of missing values by Gaussian mixtures.

A `Mixture` of `Gaussian` members is the prior of the signals. `fit_mixture` estimates it by EM from
signals that have missing values themselves. `Mixture.fill` replaces missing entries by their
conditional means. The covariance of a member may be diagonal in the domain of a fast transform.
"""

from fost.imputation.fit import fit_mixture
from fost.imputation.gaussian import Gaussian
from fost.imputation.mixture import Mixture
from fost.imputation.storage import load_mixture

__all__ = ["Gaussian", "Mixture", "fit_mixture", "load_mixture"]
