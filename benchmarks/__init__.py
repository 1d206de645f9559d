"""Speed of fost as ratios against named competitors; `make bench` runs all of it."""
