"""The numbers that the paper prints: its tables, running times and captions.

C. Rusu, N. González-Prelcic and R. W. Heath, "Fast Orthonormal Sparsifying Transforms Based on
Householder Reflectors", IEEE Transactions on Signal Processing, 2016.
"""

from __future__ import annotations

CITATION = (
    "C. Rusu, N. González-Prelcic and R. W. Heath, “Fast Orthonormal Sparsifying Transforms "
    "Based on Householder Reflectors”, IEEE Transactions on Signal Processing, 2016"
)

# The columns of Table I; man is in an inpainting figure only.
TABLE_IMAGES = (
    "peppers", "boat", "pollen", "mri", "cameraman", "pirate",
    "barb", "baboon", "hill", "couple", "house", "fingerprint",
)  # fmt: skip
IMAGES = (*TABLE_IMAGES, "man")

# Table I: root mean squared errors, s = 4, in the order of TABLE_IMAGES.
_TABLE_ONE = {
    "1-D DCT": (0.0395, 0.0419, 0.0461, 0.0721, 0.0619, 0.0507,
                0.0435, 0.0694, 0.0361, 0.0432, 0.0374, 0.0765),
    "H6": (0.0294, 0.0371, 0.0421, 0.0649, 0.0568, 0.0453,
           0.0508, 0.0738, 0.0331, 0.0405, 0.0298, 0.0536),
    "H12": (0.0261, 0.0324, 0.0376, 0.0611, 0.0512, 0.0421,
            0.0436, 0.0691, 0.0302, 0.0353, 0.0255, 0.0497),
    "QH6": (0.0306, 0.0375, 0.0425, 0.0656, 0.0575, 0.0457,
            0.0508, 0.0739, 0.0334, 0.0411, 0.0302, 0.0542),
    "QH12": (0.0278, 0.0336, 0.0388, 0.0626, 0.0533, 0.0434,
             0.0444, 0.0702, 0.0313, 0.0366, 0.0275, 0.0512),
    "H32": (0.0253, 0.0310, 0.0371, 0.0594, 0.0472, 0.0407,
            0.0348, 0.0649, 0.0288, 0.0336, 0.0234, 0.0492),
    "QH32": (0.0278, 0.0332, 0.0385, 0.0617, 0.0519, 0.0428,
             0.0397, 0.0681, 0.0305, 0.0364, 0.0265, 0.0511),
    "Q-DLA": (0.0256, 0.0312, 0.0372, 0.0596, 0.0473, 0.0409,
              0.0361, 0.0654, 0.0292, 0.0339, 0.0241, 0.0496),
    "SK-SVD": (0.0191, 0.0231, 0.0275, 0.0462, 0.0311, 0.0328,
               0.0266, 0.0561, 0.0235, 0.0266, 0.0143, 0.0344),
}  # fmt: skip
TABLE_ONE: dict[str, dict[str, float]] = {
    method: dict(zip(TABLE_IMAGES, values, strict=True)) for method, values in _TABLE_ONE.items()
}

# Table II: speed-up of m reflectors over Q-DLA and over the fast cosine transform.
TABLE_TWO: dict[int, tuple[float, float]] = {
    1: (32, 3), 2: (16, 1.5), 3: (11, 1), 4: (8, 0.8), 6: (5, 0.5),
    8: (4, 0.4), 12: (3, 0.3), 16: (2, 0.2), 20: (1.6, 0.2), 24: (1.3, 0.1),
}  # fmt: skip

# Captions of the inpainting figures: mean absolute error, and what the paper calls MSE. The values
# can only be root mean squared errors.
INPAINTING: dict[str, dict[str, tuple[float, float]]] = {
    "barb": {"Q-DLA": (0.0305, 0.0492), "H14": (0.0321, 0.0512)},
    "man": {"Q-DLA": (0.0333, 0.0548), "H14": (0.0334, 0.0549)},
}

# Seconds of learning on 12,288 patches, K = 100; for SK-SVD "over one minute".
SECONDS = {"Q-DLA": 15.0, "H8": 13.0, "QH8": 7.0, "SK-SVD": 60.0}

# The training set of the figures: the patches of these three images together.
FIGURE_SET = ("couple", "peppers", "boat")
