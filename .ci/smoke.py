"""Does an installed wheel work? Needs nothing but fost and what it depends on."""

import tempfile
from pathlib import Path

import numpy as np

import fost
from fost import _core

rng = np.random.default_rng(0)
Y = rng.standard_normal((1000, 64)).astype(np.float32)
vectors = rng.standard_normal((12, 64))
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
transforms = [
    fost.DCT((8, 8)),
    fost.Householder(vectors),
    fost.Givens([(0, 1)], [[[0.6, 0.8], [-0.8, 0.6]]], 64),
    fost.Dense(fost.Householder(vectors).matrix),
    fost.Chain([fost.DCT((8, 8)), fost.Householder(vectors)]),
]
for isa in _core.available_isas():
    _core.set_isa(isa)
    for transform in transforms:
        forward = transform.forward(Y)
        assert np.abs(forward - Y @ transform.matrix).max() < 1e-5, (isa, transform)
        assert np.abs(transform.inverse(forward) - Y).max() < 1e-5, (isa, transform)
        codes = transform.encode(Y, 4)
        assert codes.nnz == 4 * len(Y), (isa, transform)
        assert np.abs(transform.decode(codes) - codes @ transform.matrix.T).max() < 1e-5
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "transform.safetensors"
            transform.save(path)
            assert fost.load(path) == transform
print(f"fost {fost.__version__}: {len(transforms)} transforms work on {_core.available_isas()}")
