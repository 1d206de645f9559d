"""Several transforms, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fost import _core
from fost.transforms.base import Transform


class Chain(Transform):
    """U = U_first U_second ...: `forward` applies the first member's `forward` first.

    The usual chain is a fast fixed base and a learned transform of its coefficients. All
    members run in one pass over the data.

    Parameters
    ----------
    members : iterable of transforms
        At least one, all of the same n_features. Chains among them are taken apart.

    Examples
    --------
    >>> import fost, numpy as np
    >>> base = fost.DCT((8, 8))
    >>> chain = fost.Chain([base, fost.Householder(np.eye(64)[:2])])
    >>> chain
    Chain(n_features=64, members=[DCT, Householder], flops=1184)
    >>> Y = np.random.default_rng(0).standard_normal((3, 64))
    >>> np.allclose(chain.forward(Y), chain.members[1].forward(base.forward(Y)))
    True
    """

    kind = "chain"

    def __init__(self, members: Iterable[Transform]) -> None:
        self._members = tuple(_flattened(members))
        if not self._members:
            raise ValueError("members must be at least one transform, got none")
        sizes = [member.n_features for member in self._members]
        if len(set(sizes)) > 1:
            raise ValueError(f"members must have the same n_features, got {sizes}")

    @property
    def members(self) -> tuple[Transform, ...]:
        """The transforms in the order in which `forward` applies them."""
        return self._members

    @property
    def n_features(self) -> int:
        return self._members[0].n_features

    @property
    def flops(self) -> int:
        """The sum over the members."""
        return sum(member.flops for member in self._members)

    @property
    def n_parameters(self) -> int:
        """The sum over the members."""
        return sum(member.n_parameters for member in self._members)

    def _add_to(self, plan: _core.Plan) -> None:
        for member in self._members:
            member._add_to(plan)

    def _arguments(self) -> dict[str, Any]:
        return {"members": self._members}

    def _described(self) -> dict[str, Any]:
        return {"members": f"[{', '.join(type(member).__name__ for member in self._members)}]"}


def _flattened(members: Iterable[Transform]) -> Iterable[Transform]:
    if not isinstance(members, Iterable) or getattr(members, "ndim", 1) == 0:
        raise TypeError(f"members must be a list of transforms, got {type(members).__name__}")
    for member in members:
        if not isinstance(member, Transform):
            raise TypeError(f"members must be transforms, got {type(member).__name__}")
        yield from member.members if isinstance(member, Chain) else (member,)
