"""The compiled module: its stub, its environment variables and its instruction sets."""

from __future__ import annotations

import ast
import gc
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg.blas import sgemm

import fost
from fost import _core
from tests import cases

STUB = ast.parse((Path(fost.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))


def stub_functions(body: list[ast.stmt]) -> dict[str, list[str]]:
    """Public names of functions in a stub, with the names of their parameters."""
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def public(owner: Any) -> set[str]:
    """Public names of its own, without those of the classes it derives from."""
    return {name for name in vars(owner) if not name.startswith("_")}


def compiled_parameters(function: Any) -> set[tuple[str, ...]]:
    """Names of the parameters of every overload, from the signatures that nanobind writes."""
    found = set()
    for signature, *_ in function.__nb_signature__:
        text = re.sub(r"\[[^\[\]]*\]", "", signature)  # shapes and types of arrays
        inside = text[text.index("(") + 1 : text.rindex(")")]
        names = (part.split(":")[0].strip() for part in inside.split(","))
        found.add(tuple(name for name in names if name not in ("", "/")))
    return found


def test_the_stub_has_the_names_of_the_module() -> None:
    classes = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
    constants = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    names = {*stub_functions(STUB.body), *(node.name for node in classes), *constants}
    assert public(_core) == names
    for node in classes:
        compiled = getattr(_core, node.name)
        assert public(compiled) == set(stub_functions(node.body)), node.name
        bases = [base.__name__ for base in compiled.__bases__ if base is not object]
        assert bases == [ast.unparse(base) for base in node.bases], node.name


def test_the_stub_has_the_parameters_of_the_module() -> None:
    owners = [(_core, STUB.body)]
    owners += [(getattr(_core, n.name), n.body) for n in STUB.body if isinstance(n, ast.ClassDef)]
    checked = 0
    for owner, body in owners:
        for name, parameters in stub_functions(body).items():
            function = getattr(owner, name)
            if hasattr(function, "__nb_signature__"):
                assert compiled_parameters(function) == {tuple(parameters)}, name
                checked += 1
    assert checked > 10


def run_with(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FOST_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


REPORT = "import fost; print(fost._core.get_isa(), fost.get_num_threads())"


@pytest.mark.parametrize("name", _core.available_isas())
def test_the_environment_chooses_the_instruction_set(name: str) -> None:
    done = run_with(REPORT, FOST_ISA=name, FOST_NUM_THREADS="3")
    assert done.stdout.split() == [name, "3"], done.stderr


def test_without_environment_variables_the_machine_is_used() -> None:
    best = _core.available_isas()[-1]
    for environment in ({}, {"FOST_ISA": "", "FOST_NUM_THREADS": ""}):
        done = run_with(REPORT, **environment)
        isa, n_threads = done.stdout.split()
        assert isa == best, done.stderr
        if hasattr(os, "sched_getaffinity"):
            assert int(n_threads) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "FOST_ISA",
            "sse9",
            "instruction set 'sse9' is not available; this machine runs: baseline",
        ),
        ("FOST_ISA", "AVX2", "instruction set 'AVX2' is not available"),
        ("FOST_NUM_THREADS", "0", "FOST_NUM_THREADS must be between 1 and 1024, got 0"),
        ("FOST_NUM_THREADS", "-2", "FOST_NUM_THREADS must be between 1 and 1024, got -2"),
        ("FOST_NUM_THREADS", "1025", "FOST_NUM_THREADS must be between 1 and 1024, got 1025"),
        ("FOST_NUM_THREADS", "9" * 30, "FOST_NUM_THREADS must be between 1 and 1024"),
        ("FOST_NUM_THREADS", "two", "FOST_NUM_THREADS must be an integer, got 'two'"),
        ("FOST_NUM_THREADS", "1.5", "FOST_NUM_THREADS must be an integer, got '1.5'"),
        ("FOST_NUM_THREADS", "2x", "FOST_NUM_THREADS must be an integer, got '2x'"),
        ("FOST_NUM_THREADS", " ", "FOST_NUM_THREADS must be an integer, got ' '"),
    ],
)
def test_bad_environment_variables(variable: str, value: str, message: str) -> None:
    done = run_with("import fost", **{variable: value})
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: "), done.stderr
    assert message in last, done.stderr


def test_instruction_sets_are_ordered_and_settable(isa: str) -> None:
    assert _core.get_isa() == isa
    assert _core.available_isas()[0] == "baseline"


def test_unknown_instruction_sets() -> None:
    before = _core.get_isa()
    known = ", ".join(_core.available_isas())
    with pytest.raises(ValueError, match=f"set 'quantum' is not available; .* runs: {known}"):
        _core.set_isa("quantum")
    with pytest.raises(ValueError, match="set '' is not available"):
        _core.set_isa("")
    with pytest.raises(TypeError):
        _core.set_isa(None)  # type: ignore[arg-type]
    assert _core.get_isa() == before


@pytest.mark.parametrize("kind", cases.KINDS)
def test_instruction_sets_agree(isa: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 100, rng)
    Y = cases.make_signals("normal", 50, 100, np.float64, rng)
    result = transform.forward(Y)
    _core.set_isa("baseline")
    # They differ in fused multiply-adds only: a few eps (2.2e-16) per stage on unit signals.
    np.testing.assert_allclose(result, transform.forward(Y), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("n", "expected"), [(4, False), (256, False), (257, True)])
def test_plans_know_whether_they_need_blas(n: int, expected: bool) -> None:
    plan = _core.Plan(n)
    plan.add_reflectors(np.eye(n)[:2])
    plan.add_rotations(np.array([[0, 1]], np.int32), np.eye(2)[None])
    plan.add_cosine([n])
    assert not plan.uses_blas
    plan.add_dense(np.eye(n))
    assert plan.uses_blas == expected


def test_plans_and_banks_are_coders() -> None:
    plan = _core.Plan(6)
    bank = _core.Bank(plan, [_core.Plan(6) for _ in range(3)])
    for coder, n_atoms in ((plan, 6), (bank, 18)):
        assert isinstance(coder, _core.Coder)
        assert (coder.n_features, coder.n_atoms, coder.uses_blas) == (6, n_atoms, False)
    with pytest.raises(TypeError, match="Coder"):
        _core.Coder()


def test_a_plan_without_stages_is_the_identity(isa: str) -> None:
    Y = cases.make_signals("all scales", 33, 9, np.float64, np.random.default_rng(0))
    out = np.empty_like(Y)
    for inverse in (False, True):
        assert _core.Plan(9).apply(Y, out, inverse)
        assert cases.same_bits(out, Y)


@pytest.mark.parametrize("layout", ["Fortran order", "every second column", "all reversed"])
def test_results_of_any_layout(isa: str, layout: str) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform("chain", 45, rng)
    for dtype in cases.DTYPES:
        Y = cases.make_signals("normal", 70, 45, dtype, rng)
        room = np.full((70, 90), 7, dtype, order="F" if layout == "Fortran order" else "C")
        out = {
            "Fortran order": room[:, :45],
            "every second column": room[:, ::2],
            "all reversed": room[::-1, 44::-1],
        }[layout]
        assert transform._plan.apply(Y, out, False)
        assert cases.same_bits(out, transform.forward(Y))
        assert np.count_nonzero(room == 7) >= 70 * 45, "wrote outside"


def test_registers_are_left_clean(isa):
    """Upper halves of vector registers in use would slow down others' SSE code."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((100, 64)).astype(np.float32)
    base = fost.DCT((8, 8))
    bank = fost.Bank([base, fost.Dense(np.eye(64))])
    passes = {
        "apply": lambda: base.forward(Y),
        "encode": lambda: base.encode(Y, 4),
        "encode many": lambda: base.encode(Y, 20),
        "encode a bank": lambda: bank.encode(Y, 4),
        "pursue": lambda: fost.omp(Y, bank.matrix.T, 4),
        "learn": lambda: fost.learn(Y, fost.Reflectors(2), 4, max_iter=2),
        "denoise": lambda: fost.restoration.denoise(Y, 0.1, stride=4),
    }
    passes["apply"]()
    np.ones(8).sum()
    if _core.registers_clean() is not True:
        pytest.skip("this processor does not tell which registers are in use")
    sgemm(1.0, bank.matrix, Y, trans_a=1, trans_b=1)
    if isa == "baseline" and not _core.registers_clean():
        pytest.skip("BLAS leaves registers in use that plain kernels do not know")
    for name, run in passes.items():
        run()
        assert _core.registers_clean(), name


def test_plans_keep_the_plans_that_they_are_made_of() -> None:
    rng = np.random.default_rng(0)
    U = fost.Dense(cases.random_orthonormal(rng, 12))
    V = fost.Householder(cases.random_vectors(rng, 3, 12))
    Y = rng.standard_normal((40, 12))
    expected = V.forward(U.inverse(Y))
    plan = _core.Plan(12)
    plan.add_plan(U._plan, transposed=True)
    plan.add_plan(V._plan)
    del U, V
    gc.collect()
    out = np.empty_like(Y)
    assert plan.apply(Y, out, False)
    np.testing.assert_allclose(out, expected, atol=1e-14)
    assert plan.apply(expected, out, True)
    np.testing.assert_allclose(out, Y, atol=1e-14)
    with pytest.raises(ValueError, match="plans do not agree"):
        plan.add_plan(plan)
    with pytest.raises(ValueError, match="plans do not agree"):
        plan.add_plan(_core.Plan(11))
