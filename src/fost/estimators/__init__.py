"""Scikit-learn estimators; `fost.learning` has the algorithms."""

from fost.estimators.auto import AutoDictionary
from fost.estimators.bank import BankDictionary
from fost.estimators.circulant import CirculantDictionary
from fost.estimators.fast_pca import FastPCA
from fost.estimators.givens import GivensDictionary
from fost.estimators.householder import HouseholderDictionary
from fost.estimators.imputer import Imputer
from fost.estimators.orthonormal import OrthonormalDictionary
from fost.estimators.union import UnionDictionary

__all__ = [
    "AutoDictionary",
    "BankDictionary",
    "CirculantDictionary",
    "FastPCA",
    "GivensDictionary",
    "HouseholderDictionary",
    "Imputer",
    "OrthonormalDictionary",
    "UnionDictionary",
]
