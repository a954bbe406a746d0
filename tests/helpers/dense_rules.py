"""All frequent rules of a small table as a matrix of who is inside; slow, and easy to check."""

import copy
from itertools import combinations, product

import numpy as np


class DenseRules:
    """`conditions` has the value of each attribute, -1 for any."""

    def __init__(self, codes, *, min_support=0.0, most=3):
        n_rows, n_attributes = codes.shape
        rules, inside = [], []
        for size in range(1, most + 1):
            for columns in combinations(range(n_attributes), size):
                for wanted in product(*(np.unique(codes[:, j]) for j in columns)):
                    held = (codes[:, columns] == wanted).all(axis=1)
                    if max(min_support * n_rows, 1) <= held.sum() < n_rows:
                        rule = np.full(n_attributes, -1)
                        rule[list(columns)] = wanted
                        rules.append(rule)
                        inside.append(held)
        self.conditions = np.array(rules).reshape(-1, n_attributes)
        self.masks = np.array(inside).reshape(-1, n_rows)
        self.matrix = self.masks.astype(float)
        self.n_rules = len(rules)
        self.support = self.matrix.mean(axis=1)

    def sums(self, values):
        return self.matrix @ values

    def inside(self, rule):
        return self.masks[rule]

    def among(self, rows):
        few = copy.copy(self)
        few.masks, few.matrix = self.masks[:, rows], self.matrix[:, rows]
        return few
