"""Streams of signals: arrays in memory, memory maps, chunked files, blocks, Dask arrays.

Everything that fost computes from signals is a sum over signals or works row by row. A stream
therefore offers two operations: `Stream.total`, the sum of a pass over all blocks, and
`Stream.map_blocks`.
"""

from fost.streams.arrays import as_stream, is_dask, is_lazy
from fost.streams.base import Pass, Stream, Sums

__all__ = ["Pass", "Stream", "Sums", "as_stream", "is_dask", "is_lazy"]
