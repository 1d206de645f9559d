"""C programs on emulated Cortex-M microcontrollers: cross compiler, qemu and instruction counts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

# Board of qemu and flags of the compiler for each core.
CORES = {
    "cortex-m4": (
        "mps2-an386",
        ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
    ),
    "cortex-m0": ("microbit", ("-mcpu=cortex-m0", "-mthumb")),
}
COMPILER = "arm-none-eabi-gcc"

# Vector table, reset handler, and the exit code by semihosting.
_START = """
#include <stdint.h>
int main(void);
static void leave(int code)
{
    volatile uint32_t block[2] = {0x20026, 0};
    register uint32_t r0 __asm__("r0") = 0x20;
    register volatile uint32_t *r1 __asm__("r1") = block;
    block[1] = (uint32_t)code;
    __asm__ volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
    for (;;) {}
}
void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88 |= 0xF << 20; /* enable the floating-point unit */
    __asm__ volatile("dsb\\nisb");
#endif
    leave(main());
}
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
    0x20003f00, (uintptr_t)reset};
"""
_LINK = (
    *("-nostartfiles", "--specs=nosys.specs", "-Wl,--entry=reset,--section-start=.vectors=0"),
    *("-Wl,-Ttext=0x100", "-Wl,-Tdata=0x20000000"),
)


def missing() -> str:
    """The name of a tool that is not installed; empty if there is none."""
    tools = (COMPILER, "qemu-system-arm")
    return next((tool for tool in tools if shutil.which(tool) is None), "")


def build(core: str, source: Path, *flags: str) -> Path:
    """The program of a C file."""
    start = source.parent / "start.c"
    start.write_text(_START)
    program = source.parent / f"{source.stem}-{core}"
    files = ["-x", "c", str(start), str(source), "-o", str(program)]
    subprocess.run([COMPILER, *CORES[core][1], "-std=c99", *flags, *files, *_LINK], check=True)
    return program


def run(core: str, program: Path, *, count: bool = False) -> tuple[int, int]:
    """The exit code of a program and, if wanted, the number of its instructions."""
    log = program.with_suffix(".log")
    options = ["-singlestep", "-d", "exec,nochain", "-D", str(log)] if count else []
    board = ["-M", CORES[core][0], "-nographic", "-semihosting", "-kernel", str(program)]
    code = subprocess.run(
        ["qemu-system-arm", *options, *board], stdin=subprocess.DEVNULL, timeout=120
    ).returncode
    if not count:
        return code, 0
    with open(log, "rb") as file:
        return code, sum(line.startswith(b"Trace") for line in file)
