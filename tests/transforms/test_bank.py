"""Banks: against brute force over their members, and the cases that are special."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fost
from fost._threads import at_most
from fost.restoration.shrinkage import hard_threshold_at
from tests.cases import dtypes, random_orthonormal, random_pairs, random_vectors, seeds


def members(rng, n, count, shared):
    """Members of all kinds, beyond a base if they share one."""
    blocks = np.tile([[0.6, 0.8], [-0.8, 0.6]], (5, 1, 1))
    kinds = [
        lambda: fost.Householder(random_vectors(rng, min(n, 3), n)),
        lambda: fost.Dense(random_orthonormal(rng, n)),
        lambda: fost.DCT(n),
        lambda: fost.Givens(random_pairs(rng, 5, n), blocks, n) if n > 1 else fost.DCT(1),
    ]
    found = [kinds[k % 4]() for k in range(count)]
    return [fost.Chain([fost.DCT(n), member]) for member in found] if shared else found


@given(
    seeds,
    st.integers(1, 80),
    st.integers(1, 6),
    st.sampled_from([0, 1, 31, 33, 400]),
    dtypes,
    st.booleans(),
    st.data(),
)
def test_equals_brute_force(isa, seed, n, count, n_signals, dtype, shared, data):
    s = data.draw(st.integers(1, min(n, 12)))
    rng = np.random.default_rng(seed)
    bank = fost.Bank(members(rng, n, count, shared))
    Y = rng.standard_normal((n_signals, n)).astype(dtype)
    codes = bank.encode(Y, s)
    assert codes.shape == (n_signals, count * n)
    assert codes.dtype == dtype
    chosen = bank.chosen(codes)
    kept = np.array([np.square(t.encode(Y, s).toarray()).sum(axis=1) for t in bank.members])
    rounding = 1e-5 if dtype == np.float32 else 1e-12
    best = kept.max(axis=0, initial=0)
    picked = kept[chosen, np.arange(n_signals)]
    assert (picked >= best * (1 - rounding)).all()
    for i, b in enumerate(chosen):
        own = bank[b].encode(Y[i : i + 1], s)
        row = codes[[i]]
        np.testing.assert_array_equal(row.indices, own.indices + b * n)
        np.testing.assert_array_equal(row.data, own.data)


def test_one_member_is_the_transform_itself():
    rng = np.random.default_rng(0)
    for transform in members(rng, 16, 4, True):
        Y = rng.standard_normal((50, 16))
        ours, theirs = fost.Bank([transform]).encode(Y, 3), transform.encode(Y, 3)
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_ties_go_to_the_lower_member():
    rng = np.random.default_rng(0)
    same = fost.Dense(random_orthonormal(rng, 16))
    bank = fost.Bank([same, same, fost.Chain([same])])
    codes = bank.encode(rng.standard_normal((100, 16)), 3)
    assert (bank.chosen(codes) == 0).all()


def test_members_of_dense_codes():
    rng = np.random.default_rng(0)
    bank = fost.Bank(members(rng, 12, 4, True))
    codes = bank.encode(rng.standard_normal((50, 12)), 3)
    np.testing.assert_array_equal(bank.chosen(codes.toarray()), bank.chosen(codes))


def test_zero_signals_have_empty_codes():
    bank = fost.Bank([fost.DCT(8), fost.Dense(np.eye(8))])
    codes = bank.encode(np.zeros((5, 8)), 2)
    assert codes.nnz == 0
    np.testing.assert_array_equal(bank.chosen(codes), 0)
    np.testing.assert_array_equal(bank.decode(codes), np.zeros((5, 8)))


@pytest.mark.parametrize(
    ("dtype", "powers"), [(np.float32, (-105, -70, 70, 120)), (np.float64, (-990, -530, 530, 1000))]
)
@pytest.mark.parametrize("s", [3, 11])
def test_scaled_signals_have_scaled_codes(isa, dtype, powers, s):
    """Not even where their squares overflow or vanish; signals beside them do not change."""
    rng = np.random.default_rng(0)
    bank = fost.Bank([fost.Dense(np.eye(24)), fost.DCT(24), *members(rng, 24, 4, True)])
    Y = rng.standard_normal((100, 24)).astype(dtype)
    Y[::4] *= rng.random((25, 24)) < 0.1
    codes = bank.encode(Y, s)
    assert len(np.unique(bank.chosen(codes))) > 2
    for power in powers:
        scales = np.where(np.arange(100) % 3, 1, dtype(2) ** power).astype(dtype)[:, None]
        scaled = bank.encode(Y * scales, s)
        np.testing.assert_array_equal(scaled.toarray(), codes.toarray() * scales)


@pytest.mark.parametrize("s", [3, 11])
def test_the_smallest_numbers(isa, s):
    rng = np.random.default_rng(0)
    bank = fost.Bank([fost.DCT(24), fost.Dense(np.eye(24))])
    for dtype in (np.float32, np.float64):
        Y = np.zeros((50, 24), dtype)
        Y[np.arange(50), rng.integers(0, 24, 50)] = np.finfo(dtype).smallest_subnormal * 1000
        codes = bank.encode(Y, s)
        np.testing.assert_array_equal(bank.chosen(codes), 1)
        np.testing.assert_array_equal(bank.decode(codes), Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(dtype, set_threads):
    rng = np.random.default_rng(0)
    bank = fost.Bank(members(rng, 64, 5, True))
    Y = rng.standard_normal((20_000, 64)).astype(dtype)
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        M = np.empty((5 * 64, 64))
        energy = bank._plan.accumulate(Y, 4, M)
        results.append((bank.encode(Y, 4), M, energy))
    for codes, M, energy in results[1:]:
        np.testing.assert_array_equal(codes.data, results[0][0].data)
        np.testing.assert_array_equal(codes.indices, results[0][0].indices)
        np.testing.assert_array_equal(M, results[0][1])
        assert energy == results[0][2]


def test_limits_of_threads_may_exceed_their_number(set_threads):
    """There is memory for every thread that runs, not only for `fost.get_num_threads()`."""
    rng = np.random.default_rng(0)
    bank = fost.Bank(members(rng, 64, 4, False))
    Y = rng.standard_normal((100_000, 64)).astype(np.float32)
    image = rng.standard_normal((200, 300)).astype(np.float32)
    results = []
    set_threads(1)
    for limit in (1, 5):
        M = np.empty((4 * 64, 64))
        with at_most(limit):
            codes = bank.encode(Y, 4)
            bank._plan.accumulate(Y, 4, M)
            tops, lefts = np.arange(193), np.arange(293)
            shrunk = hard_threshold_at(image, bank, (8, 8), (tops, lefts), 2.0)
        results.append((codes.data, codes.indices, M, *shrunk))
    for one, several in zip(*results, strict=True):
        np.testing.assert_array_equal(one, several)


@given(seeds, st.integers(1, 40), st.integers(1, 5), dtypes)
def test_statistic_equals_that_of_the_codes(isa, seed, n, count, dtype):
    rng = np.random.default_rng(seed)
    bank = fost.Bank(members(rng, n, count, False))
    Y = rng.standard_normal((300, n)).astype(dtype)
    M = np.empty((count * n, n))
    energy = bank._plan.accumulate(Y, min(3, n), M)
    codes = bank.encode(Y, min(3, n)).astype(np.float64)
    np.testing.assert_allclose(M, codes.T @ Y.astype(np.float64), atol=1e-9)
    assert energy == pytest.approx(np.square(codes.data).sum())


def test_decoding_is_a_sum_of_atoms():
    rng = np.random.default_rng(0)
    bank = fost.Bank(members(rng, 12, 4, True))
    codes = bank.encode(rng.standard_normal((30, 12)), 3)
    np.testing.assert_allclose(bank.decode(codes), codes @ bank.matrix.T, atol=1e-12)
    assert bank.matrix.shape == (12, 48)
    np.testing.assert_allclose(bank.decode(codes.toarray()), bank.decode(codes), atol=1e-12)
    whole = bank.encode(rng.standard_normal((30, 12)), 12)
    assert whole.nnz == 30 * 12


def test_a_shared_base_counts_once():
    rng = np.random.default_rng(0)
    base = fost.DCT((4, 4))
    parts = [fost.Householder(random_vectors(rng, 2, 16)) for _ in range(3)]
    bank = fost.Bank([fost.Chain([base, part]) for part in parts])
    assert bank.base == fost.Chain([base])
    assert bank.flops == base.flops + 3 * parts[0].flops
    assert bank.n_parameters == 3 * parts[0].n_parameters
    assert fost.Bank(parts).base is None
    # The base alone may be a member.
    with_base = fost.Bank([base, fost.Chain([base, parts[0]])])
    assert with_base.flops == base.flops + parts[0].flops
    Y = rng.standard_normal((20, 16))
    assert (with_base.encode(Y, 3).nnz, len(with_base)) == (60, 2)


def test_files_equality_and_repr(tmp_path):
    rng = np.random.default_rng(0)
    bank = fost.Bank(members(rng, 12, 4, True))
    bank.save(tmp_path / "bank.safetensors", {"patch": "3x4"})
    again = fost.load(tmp_path / "bank.safetensors")
    assert again == bank
    assert hash(again) == hash(bank)
    assert fost.transforms.read_metadata(tmp_path / "bank.safetensors") == {"patch": "3x4"}
    assert pickle.loads(pickle.dumps(bank)) == bank
    assert bank != fost.Bank(bank.members[:2])
    assert bank != bank.members
    assert repr(bank) == f"Bank(n_features=12, n_members=4, flops={bank.flops})"
    damaged = bytearray((tmp_path / "bank.safetensors").read_bytes())
    damaged[-3] ^= 1
    (tmp_path / "bank.safetensors").write_bytes(damaged)
    with pytest.raises(ValueError, match="checksum"):
        fost.load(tmp_path / "bank.safetensors")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fost.Bank([]), ValueError, "members must be at least one"),
        (lambda: fost.Bank(3), TypeError, "members must be a list of transforms"),
        (lambda: fost.Bank([np.eye(3)]), TypeError, "members must be transforms"),
        (lambda: fost.Bank([fost.DCT(3), fost.DCT(4)]), ValueError, "the same n_features"),
        (lambda: BANK.encode(np.ones((2, 5)), 1), ValueError, "Y has 5 features"),
        (lambda: BANK.encode(np.ones((2, 4)), 5), ValueError, "n_nonzero_coefs must be between"),
        (lambda: BANK.encode(np.full((2, 4), np.nan), 1), ValueError, "Y contains NaN"),
        (lambda: BANK.decode(csr_array(np.eye(4))), ValueError, "codes have 4 columns"),
        (lambda: BANK.decode(np.eye(4)), ValueError, "codes has 4 features"),
        (lambda: BANK.decode(np.full((1, 8), np.nan)), ValueError, "codes contain NaN"),
        (lambda: BANK.chosen(np.eye(4)), ValueError, "codes ha[sv]e? 4"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


BANK = fost.Bank([fost.DCT(4), fost.Dense(np.eye(4))])


@given(seeds, st.integers(1, 40), st.integers(1, 5), dtypes, st.booleans(), st.data())
def test_decoding_by_members_equals_decoding_by_atoms(seed, n, count, dtype, mixed, data):
    """Codes of `encode`, and others whose entries are of several members."""
    rng = np.random.default_rng(seed)
    bank = fost.Bank(members(rng, n, count, data.draw(st.booleans())))
    Y = rng.standard_normal((30, n)).astype(dtype)
    Y[::7] = 0
    codes = bank.encode(Y, min(n, 3))
    if mixed:
        codes = csr_array(codes + csr_array(rng.permutation(codes.toarray(), axis=1)))
    found = bank._decode_by_transforms(codes)
    assert "matrix" not in bank.__dict__
    assert found.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, codes @ bank.matrix.T, atol=tolerance)
    np.testing.assert_allclose(bank.decode(codes), found, atol=tolerance)


def test_large_banks_decode_without_a_matrix():
    n = 2**16
    turn = fost.Givens([(0, 5)], [[[0.6, 0.8], [-0.8, 0.6]]], n)
    bank = fost.Bank([fost.DCT(n), turn, fost.DCT((2**8, 2**8))])
    Y = np.random.default_rng(0).standard_normal((6, n))
    Y[::2] = np.cos(np.arange(n) / 1000)
    codes = bank.encode(Y, 5)
    assert len(np.unique(bank.chosen(codes))) > 1
    decoded = bank.decode(codes)
    for i, b in enumerate(bank.chosen(codes)):
        own = codes[[i]].toarray()[:, b * n : (b + 1) * n]
        np.testing.assert_allclose(decoded[i], bank[b].inverse(own)[0], atol=1e-10)
    assert not any("matrix" in coder.__dict__ for coder in (bank, *bank.members))
    # However many signals there are, and however cheap sums of atoms would be.
    ones = csr_array((np.ones(10**6), np.zeros(10**6, np.int32), np.arange(10**6 + 1)))
    ones.resize((10**6, 3 * n))
    assert not bank._sums_atoms(ones)
    for size, sums in ((n, False), (64, True)):
        ones.resize((10**6, size))
        assert fost.DCT(size)._sums_atoms(ones) == sums


def test_banks_decode_many_signals_as_sums_of_atoms():
    rng = np.random.default_rng(0)
    for n, count, at_once in ((16, 3, True), (160, 3, False)):
        bank = fost.Bank([fost.Chain([fost.DCT(n), t]) for t in members(rng, n, count, False)])
        bank.decode(bank.encode(rng.standard_normal((1, n)), 2))
        assert ("matrix" in bank.__dict__) == at_once
        bank.decode(bank.encode(rng.standard_normal((5000, n)), 2))
        assert "matrix" in bank.__dict__


def test_decoding_by_members_detects_overflow():
    bank = fost.Bank([fost.DCT(2), fost.Dense(np.eye(2))])
    large = np.finfo(np.float64).max / 1.2
    for code in ([large, large, 0, 0], [large, 0, large, 0]):
        for decode in (bank.decode, bank._decode_by_transforms):
            with pytest.raises(ValueError, match="codes are too large: decoding them overflows"):
                decode(csr_array([code]))


def test_atoms_have_32_bit_indices():
    many = fost.DCT(2**30)
    assert fost.Bank([many]).n_atoms == 2**30
    with pytest.raises(ValueError, match=r"members must have fewer than 2\*\*31 atoms in total"):
        fost.Bank([many, many])
