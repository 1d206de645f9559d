"""Windows of recordings and columns of tables, as commands read them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.io import wavfile

import fost
from fost.cli.signals import Windows
from tests.cli.conftest import Run
from tests.cli.test_errors import Fail

LEARN = ("-o", "new.safetensors", "--max-iter", "3", "--n-rotations", "8", "--json")


def recording(count: int = 900, channels: int = 2) -> np.ndarray:
    rng = np.random.default_rng(3)
    steps = rng.standard_normal((count, channels)).cumsum(axis=0)
    return np.round(100 * np.sin(steps)).astype(np.int16)


KINDS = ["wav", "csv", "npy", "channels"]


def write_recording(kind: str) -> tuple[np.ndarray, list[str]]:
    """Samples in columns, and the arguments that name their file."""
    sound = recording(channels=1 if kind == "npy" else 2)
    if kind == "wav":
        wavfile.write("sound.wav", 8000, sound)
    elif kind == "csv":
        pd.DataFrame(sound, columns=["left", "right"]).to_csv("sound.csv", index=False)
    else:
        np.save("sound.npy", sound[:, 0] if kind == "npy" else sound)
    if kind == "channels":
        return sound, ["sound.npy", "--channel-axis", "-1"]
    return sound, [f"sound.{kind}"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hop", [None, 5])
def test_learn_from_windows_of_a_recording(run: Run, kind: str, hop: int | None) -> None:
    sound, named = write_recording(kind)
    options = ["--window", "16"] if hop is None else ["--window", "16", "--hop", str(hop)]
    report = json.loads(run("learn", *named, *options, *LEARN).stdout)
    rows = np.concatenate([sliding_window_view(one, 16)[:: hop or 16] for one in sound.T])
    assert (report["n_signals"], report["n_features"]) == rows.shape
    np.save("rows.npy", rows.astype(np.float64 if kind == "csv" else sound.dtype))
    direct = json.loads(run("learn", "rows.npy", *LEARN, "--force").stdout)
    # Sums over blocks of channels differ in their last bits from those over one array.
    assert report["dct_relative_error"] == pytest.approx(direct["dct_relative_error"], rel=1e-9)
    assert report["relative_error"] < report["dct_relative_error"]
    assert fost.load("new.safetensors").n_features == 16
    assert "arrays, tables or recordings" in run("info", "new.safetensors").stdout


@pytest.mark.parametrize("kind", KINDS)
def test_encode_cuts_a_recording_into_windows(run: Run, kind: str) -> None:
    sound, named = write_recording(kind)
    fost.DCT(16).save("dct.safetensors")
    result = run("encode", "dct.safetensors", *named, "-o", "codes.npz", "-s", "16")
    assert "the last 4 of 900 samples of 'sound" in result.stderr
    run("decode", "dct.safetensors", "codes.npz", "-o", "decoded.npy")
    rows = np.concatenate([one[:896].reshape(-1, 16) for one in sound.T])
    np.testing.assert_allclose(np.load("decoded.npy"), rows, atol=1e-3)


def test_encode_takes_columns_of_a_table_for_features_or_channels(run: Run) -> None:
    table = pd.DataFrame(np.random.default_rng(0).random((32, 5)), columns=list("tabcd"))
    table.to_csv("table.csv", index=False)
    for n, rows in ((4, table.to_numpy()[:, 1:]), (8, table.to_numpy()[:, 1:].T.reshape(-1, 8))):
        fost.DCT(n).save("dct.safetensors")
        words = ["encode", "dct.safetensors", "table.csv", "--exclude", "t", "-s", str(n)]
        assert run(*words, "-o", "codes.npz", "--force").stderr == ""
        run("decode", "dct.safetensors", "codes.npz", "-o", "decoded.npy", "--force")
        np.testing.assert_allclose(np.load("decoded.npy"), rows, atol=1e-12)


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("0.5,-1", False),
        ("1,", False),  # with a missing entry
        ("5,5", False),
        ("left,right", True),
        ("time,0", True),
        (",2024", True),  # an index without a name
        ("0,1", True),  # columns without names, as pandas writes them
    ],
)
def test_the_first_row_of_a_table_is_a_header_unless_it_has_numbers(
    run: Run, first: str, is_header: bool
) -> None:
    rows = np.random.default_rng(0).standard_normal((40, 2))
    Path("table.csv").write_text(first + "\n" + "".join(f"{a},{b}\n" for a, b in rows))
    report = json.loads(run("learn", "table.csv", *LEARN[:4], "-s", "1", "--json").stdout)
    assert report["n_signals"] == 41 - is_header


def test_the_first_sample_of_one_column_may_be_zero(run: Run) -> None:
    Path("line.csv").write_text("".join(f"{k % 7}\n" for k in range(64)))
    report = json.loads(run("learn", "line.csv", "--window", "16", *LEARN).stdout)
    assert report["n_signals"] == 4


@pytest.mark.parametrize("header", ["", "volts\n"])
@pytest.mark.parametrize("first", ["0.5\n", "nan\n"])
def test_blank_lines_of_one_column_are_missing_samples(
    tmp_path: Path, header: str, first: str
) -> None:
    text = header + first + "\n1\r\n  \n2\nnan\n\n\n"
    path = tmp_path / "line.csv"
    path.write_text(text, newline="")
    (signals,) = Windows(6).of(path)
    expected = [float(first), np.nan, 1, np.nan, 2, np.nan]
    np.testing.assert_array_equal(signals, [expected])


def test_blank_lines_before_the_first_sample(tmp_path: Path) -> None:
    path = tmp_path / "line.csv"
    for header, n_missing in (("", 2), ("volts\n", 0)):
        path.write_text("\n\n" + header + "1\n2\n")
        (signals,) = Windows(n_missing + 2).of(path)
        np.testing.assert_array_equal(signals, [[np.nan] * n_missing + [1, 2]])


def test_learn_warns_of_a_large_mean(run: Run) -> None:
    Y = np.random.default_rng(0).standard_normal((200, 16))
    np.save("centred.npy", Y)
    np.save("raw.npy", Y + 10)
    assert run("learn", "centred.npy", *LEARN).stderr == ""
    assert "the mean of the signals has 99" in run("learn", "raw.npy", *LEARN, "--force").stderr


def test_unsigned_samples_are_centred(run: Run) -> None:
    sound = recording(channels=1)[:, 0]
    wavfile.write("signed.wav", 8000, sound)
    wavfile.write("unsigned.wav", 8000, (sound + 128).astype(np.uint8))
    errors = [
        json.loads(run("learn", name, "--window", "16", *LEARN, "--force").stdout)
        for name in ("signed.wav", "unsigned.wav")
    ]
    assert errors[0]["dct_relative_error"] == pytest.approx(errors[1]["dct_relative_error"])


def test_learn_from_the_rows_of_a_table(run: Run) -> None:
    frame = pd.DataFrame(
        np.random.default_rng(0).random((50, 16)), columns=list("abcdefghijklmnop")
    )
    frame.insert(0, "id", np.arange(50) * 1e6)
    frame.insert(1, "name", "text")
    frame.loc[3, "c"] = np.nan
    frame.to_csv("table.csv", index=False)
    report = json.loads(run("learn", "table.csv", "--exclude", "id", *LEARN).stdout)
    assert (report["n_signals"], report["n_features"]) == (50, 16)
    report = json.loads(run("learn", "table.csv", *LEARN, "--force").stdout)
    assert report["n_features"] == 17


def test_fill_excludes_columns(run: Run) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((80, 4)).cumsum(axis=1), columns=list("abcd"))
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    plain = frame.copy()
    frame.insert(0, "id", np.where(rng.random(80) < 0.1, np.nan, rng.random(80) * 1e9))
    frame.to_csv("table.csv", index=False)
    plain.to_csv("plain.csv", index=False)
    report = json.loads(
        run("fill", "table.csv", "-o", "out.csv", "--exclude", "id", "--json").stdout
    )
    assert report["n_features"] == 4
    run("fill", "plain.csv", "-o", "expected.csv")
    out = pd.read_csv("out.csv")
    assert out["id"].equals(pd.read_csv("table.csv")["id"])
    assert out.drop(columns="id").equals(pd.read_csv("expected.csv"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("learn sound.wav -o new", "--window must be given for the samples of 'sound.wav'"),
        ("learn line.npy -o new", "fost learn --window N cuts recordings into signals"),
        ("learn sound.wav -o new --window 901", "a window must have at most the 900 samples of"),
        ("learn sound.wav -o new --hop 3", "--hop needs --window"),
        ("learn image.png -o new --window 3", "--window is for recordings, not for images"),
        (
            "learn signals.npy -o new --window 3",
            "the rows of 'signals.npy' are signals already, unless --channel-axis says",
        ),
        ("learn signals.npy -o new --channel-axis 1", "--channel-axis needs --window"),
        (
            "learn line.npy -o new --window 3 --channel-axis 1",
            "must be an axis of a two-dimensional array, got 1 for the shape (30,) of 'line.npy'",
        ),
        (
            "encode model.safetensors signals.npy -o new.npz --channel-axis 2",
            "must be an axis of a two-dimensional array, got 2 for the shape (500, 16)",
        ),
        (
            "encode model.safetensors image.png -o new.npz --channel-axis 1",
            "--channel-axis is for .npy and .zarr arrays",
        ),
        (
            "encode model.safetensors line.npy -o new.npz",
            "a window must have at most the 30 samples of 'line.npy', got 64",
        ),
        ("learn sound.wav -o new --window 8 --exclude a", "--exclude is for .csv files"),
        (
            "learn table.csv -o new --exclude z",
            "must be a column of 'table.csv', got 'z'",
        ),
        ("learn table.csv -o new --exclude a", "no columns of numbers besides the excluded ones"),
        (
            "learn table.csv -o new --missing mask.npy",
            "is for arrays with signals in rows",
        ),
        ("fill table.csv -o out.csv --exclude z", "its columns are a"),
        ("fill signals.npy -o out.npy --exclude a", "--exclude is for tables, not for arrays"),
    ],
)
def test_wrong_options_are_named(fail: Fail, line: str, words: str) -> None:
    wavfile.write("sound.wav", 8000, recording())
    np.save("line.npy", np.arange(30.0))
    np.save("mask.npy", np.zeros((2, 1), bool))
    Path("table.csv").write_text("a\n1\n2\n")
    assert words in fail(*line.split())
