"""Random numbers, as arguments say where they come from."""

from __future__ import annotations

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """What scikit-learn calls a random state, as NumPy's generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    wanted = "random_state must be a nonnegative integer, a Generator or None"
    try:
        if isinstance(random_state, bool | np.bool_):
            raise TypeError
        return np.random.default_rng(random_state)
    except TypeError:
        raise TypeError(f"{wanted}, got {random_state!r}") from None
    except ValueError:
        raise ValueError(f"{wanted}, got {random_state!r}") from None
