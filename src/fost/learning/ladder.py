"""The sizes of a structure that are worth trying, from the cheapest up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fost.transforms.orthonormal import dense_flops

if TYPE_CHECKING:
    from fost.learning.structure import Structure

# Members of banks are cheap, so that there can be many: sizes of them grow by this factor.
_MEMBER_STEP = 4


@dataclass(frozen=True)
class Ladder:
    """How a structure wants to be tried for a number of features.

    Attributes
    ----------
    structure : type
        Its `of_size` makes the structure of a size, and `flops` says what that costs.
    n_features : int
    sizes : sequence of int
        The sizes to try, rising; none for a structure without sizes.
    most : int
        The largest size that there is for so many features.
    least_member : int or None
        The smallest size that is of use in a bank; None where banks of it are not worth trying.
    fixed_starts : bool
        Whether, without a base, the codes of fixed transforms are starts worth trying too.

    Examples
    --------
    >>> import fost
    >>> ladder = fost.learning.Ladder(fost.Reflectors, 16, sizes=(1, 2, 4), most=16)
    >>> [rung.n_reflectors for rung in ladder.rungs(limit=200)]
    [1, 2, 3]
    """

    structure: type[Structure]
    n_features: int
    sizes: Sequence[int] = ()
    most: int = 1
    least_member: int | None = None
    fixed_starts: bool = False

    def rungs(self, limit: int | None, beneath: int = 0) -> list[Structure]:
        """The sizes that are cheaper than a dense matrix, with a base of so many operations.

        With a limit of operations also the largest that keeps to it.
        """
        if not self.sizes:
            return [self._made(None)]
        dense = dense_flops(self.n_features)
        room = (dense - 1 if limit is None else min(limit, dense - 1)) - beneath
        most = self._largest(room)
        fitting = [size for size in self.sizes if size <= most]
        if limit is not None and fitting and most not in fitting and most < 2 * fitting[-1]:
            fitting.append(most)
        return [self._made(size) for size in fitting]

    def members(
        self, counts: Sequence[int], limit: int | None, beneath: int = 0
    ) -> list[Structure]:
        """What banks of `counts` members are worth making of.

        Sizes that cost less than half of a dense matrix; with a limit of operations those of
        which so many members just fit, and others well below.
        """
        least = self.least_member
        if least is None:
            return []
        if not self.sizes:
            return [self._made(None)]
        dense = dense_flops(self.n_features)
        sizes = [least * _MEMBER_STEP**k for k in range(11) if least * _MEMBER_STEP**k <= self.most]
        sizes = [size for size in sizes if beneath + self._flops(size) < dense / 2]
        if limit is not None:
            rooms = {min(dense - 1 - beneath, (limit - beneath) // count) for count in counts}
            fitting = {size for size in map(self._largest, rooms) if size >= least}
            below = min(fitting, default=0) / 2
            sizes = sorted(fitting.union(size for size in sizes if size <= below))
        return [self._made(size) for size in sizes]

    def _made(self, size: int | None) -> Structure:
        return self.structure.of_size(size, self.n_features)

    def _flops(self, size: int) -> int:
        return self._made(size).flops(self.n_features)

    def _largest(self, room: int) -> int:
        """The largest size that costs no more than `room`; 0 for none."""
        return bisect_right(range(1, self.most + 1), room, key=self._flops)
