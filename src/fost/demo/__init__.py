"""The demonstration behind ``fost demo``: tables, and a report with pictures in a folder.

Transforms are compared on pictures that come with scikit-image, then a picture is inpainted and
denoised. Needs the extra ``images``.
"""

from fost.demo.comparison import METHODS, PICTURES, patches, picture
from fost.demo.run import main

__all__ = ["METHODS", "PICTURES", "main", "patches", "picture"]
