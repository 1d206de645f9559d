"""Signals wherever they are: in memory, in files, in blocks, on a cluster.

Everything that fost computes of signals is a sum over them, or row by row. So a stream is asked
for two things: `total`, the sum of what a function makes of each block, and `map_blocks`.
"""

from fost.streams.base import Measure, Stream, Sums
from fost.streams.forms import as_stream, is_lazy

__all__ = ["Measure", "Stream", "Sums", "as_stream", "is_lazy"]
