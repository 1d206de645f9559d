"""The paper again: every table and figure as rows and drawings, and a page about all of them.

`reproduce` does everything, and so does ``fost reproduce`` on the command line; both need the
extra ``images``. `learn` runs one algorithm of the paper by its name.
"""

from fost.paper.algorithms import Learned, learn
from fost.paper.claims import Claim, claims
from fost.paper.curves import (
    IterationRow,
    ReflectorRow,
    draw_iterations,
    draw_reflectors,
    error_by_iteration,
    error_by_reflectors,
)
from fost.paper.example import PlaneRow, draw_example, example
from fost.paper.explorer import ExplorerRow, explorer
from fost.paper.inpainting import InpaintingRow, inpainting
from fost.paper.parts import PARTS, Part
from fost.paper.pictures import PictureSet, find_pictures, signals
from fost.paper.remarks import RemarkRow, remarks
from fost.paper.report import reproduce, write_report
from fost.paper.run import Reproduction, compute
from fost.paper.running_times import TimeRow, running_times
from fost.paper.section_five import CheckRow, draw_barb, section_five
from fost.paper.settings import Settings
from fost.paper.spectra import (
    EigenvalueRow,
    draw_eigenvalues,
    eigenvalues_by_reflectors,
    eigenvalues_by_sparsity,
    eigenvalues_of_pictures,
)
from fost.paper.table_one import ErrorRow, draw_errors, table_one
from fost.paper.table_two import SpeedRow, table_two

__all__ = [
    "PARTS",
    "CheckRow",
    "Claim",
    "EigenvalueRow",
    "ErrorRow",
    "ExplorerRow",
    "InpaintingRow",
    "IterationRow",
    "Learned",
    "Part",
    "PictureSet",
    "PlaneRow",
    "ReflectorRow",
    "RemarkRow",
    "Reproduction",
    "Settings",
    "SpeedRow",
    "TimeRow",
    "claims",
    "compute",
    "draw_barb",
    "draw_eigenvalues",
    "draw_errors",
    "draw_example",
    "draw_iterations",
    "draw_reflectors",
    "eigenvalues_by_reflectors",
    "eigenvalues_by_sparsity",
    "eigenvalues_of_pictures",
    "error_by_iteration",
    "error_by_reflectors",
    "example",
    "explorer",
    "find_pictures",
    "inpainting",
    "learn",
    "remarks",
    "reproduce",
    "running_times",
    "section_five",
    "signals",
    "table_one",
    "table_two",
    "write_report",
]
