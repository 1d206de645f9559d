"""
In a pipeline: classification with a grid search
================================================

Estimators of fost are transformers of scikit-learn: sparse codes go where features go, and
parameters are searched as any others.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import fost

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# How many reflectors, and how many coefficients? Codes are dense arrays by default, so that every
# step of scikit-learn accepts them.
pipeline = make_pipeline(
    fost.HouseholderDictionary(8, max_iter=20, tol=0, random_state=0),
    MaxAbsScaler(),
    LogisticRegression(max_iter=500),
)
search = GridSearchCV(
    pipeline,
    {
        "householderdictionary__n_reflectors": [4, 16],
        "householderdictionary__n_nonzero_coefs": [4, 8, 16],
    },
    cv=3,
).fit(X_train, y_train)
print(search.best_params_)
print(f"accuracy on digits that nobody has seen: {search.score(X_test, y_test):.1%}")

# %%
# Accuracy in cross-validation, against the numbers that describe a digit.
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
results = search.cv_results_
for m in (4, 16):
    points = [
        (p["householderdictionary__n_nonzero_coefs"], score)
        for p, score in zip(results["params"], results["mean_test_score"], strict=True)
        if p["householderdictionary__n_reflectors"] == m
    ]
    ax.plot(*zip(*points, strict=True), "o-", label=f"{m} reflectors")
ax.set(xlabel="coefficients per digit", ylabel="accuracy")
ax.legend()
