"""
The paper's algorithms
======================

`fost.paper` has the algorithms of the paper by the names that it gives them, and all of its tables
and figures; ``fost reproduce`` makes a page of them. Here are errors by the number of reflectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

from fost import paper

Y = paper.signals(data.camera().astype(float))
scale = np.mean(Y**2)
counts = (2, 4, 8, 12, 16)
kinds = {"QH": "QH: all reflectors at once", "H": "H: one after another"}
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for kind, label in kinds.items():
    errors = [np.sqrt(paper.learn(f"{kind}{m}", Y, s=4, K=20).error * scale) for m in counts]
    ax.plot(counts, errors, "o-", label=label)
    print(f"{kind:3}", *(f"{error:.4f}" for error in errors))
dense = np.sqrt(paper.learn("Q-DLA", Y, s=4, K=20).error * scale)
ax.axhline(dense, color="0.5", linewidth=1, label="Q-DLA: any orthonormal matrix")
ax.set(xlabel="reflectors", ylabel="root mean squared error")
ax.legend()
