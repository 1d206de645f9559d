"""What a reproduction ran on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fost
from fost import _core

_PACKAGES = ("fost", "numpy", "scipy", "scikit-learn", "scikit-image", "matplotlib")


def machine() -> dict[str, str]:
    """Processor, system and versions, without names of computers or people."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "threads of fost": str(fost.get_num_threads()),
        "instruction set": _core.get_isa(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
