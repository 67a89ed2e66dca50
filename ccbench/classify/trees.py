# SPDX-License-Identifier: Apache-2.0
"""Extremely randomised trees as arrays, which need scikit-learn only to grow.

Measurements are bytes, so that a split is a measurement and the greatest byte of its left branch.
The nodes are ordered by level, the two branches of a split next to each other: positions follow
from the splits, and few bytes per node remain. A training set contains its trees in this form.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

__all__ = ["Trees", "grown", "key"]

_TREES, _FEATURES = 24, 20
#: The byte of a node without a split.
_LEAF = 255


@dataclass(frozen=True, kw_only=True, eq=False)
class Trees:
    """Trees that give the probability of each class.

    Parameters
    ----------
    classes : tuple of str
        In alphabetical order.
    sizes : ndarray of int, shape (n_trees,)
        The number of nodes of each tree.
    features : ndarray of uint8, shape (n_nodes,)
        The measurement by which each node splits; 255 for a leaf.
    values : ndarray of int32, shape (n_nodes,)
        The greatest value in the left branch; of a leaf, its row in `shares`.
    shares : ndarray, shape (n_rows, n_classes)
        Shares of the classes in leaves.
    """

    classes: tuple[str, ...]
    sizes: npt.NDArray[np.int64]
    features: npt.NDArray[np.uint8]
    values: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float64]

    def probabilities(self, values: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return the probability of each class, as scikit-learn does.

        Parameters
        ----------
        values : ndarray of uint8, shape (n_rows, n_measurements)

        Returns
        -------
        ndarray, shape (n_rows, n_classes)
        """
        result = np.zeros((len(values), len(self.classes)))
        rows = np.arange(len(values))
        for root in (np.cumsum(self.sizes) - self.sizes).tolist():
            nodes = np.full(len(values), root)
            while True:
                features = self.features[nodes]
                inside = np.flatnonzero(features != _LEAF)
                if not len(inside):
                    break
                at = nodes[inside]
                is_right = values[rows[inside], features[inside]] > self.values[at]
                nodes[inside] = self._left[at] + is_right
            result += self.shares[self.values[nodes]]
        return result / len(self.sizes)

    @cached_property
    def _left(self) -> npt.NDArray[np.int64]:
        """The left branch of each split."""
        splits = self.features != _LEAF
        # Each tree has one node, its root, that is no branch.
        roots = np.repeat(np.arange(1, len(self.sizes) + 1), self.sizes)
        left: npt.NDArray[np.int64] = 2 * (np.cumsum(splits) - splits) + roots
        return left

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        # The first bytes of all values, then the second ones: most of these are 0.
        parts = self.values.astype("<i4").view(np.uint8).reshape(-1, 4).T
        nodes = zlib.compress(self.features.tobytes() + parts.tobytes(), 9)
        return {
            "classes": self.classes,
            "sizes": self.sizes.tolist(),
            "nodes": base64.b64encode(nodes).decode(),
            "shares": self.shares.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Trees:
        """Return the trees of these values."""
        nodes = np.frombuffer(zlib.decompress(base64.b64decode(document["nodes"])), dtype=np.uint8)
        features, *parts = nodes.reshape(5, -1)
        values = np.stack(parts, axis=1).view("<i4")[:, 0].astype(np.int32)
        return cls(
            classes=tuple(document["classes"]),
            sizes=np.array(document["sizes"], dtype=np.int64),
            features=features,
            values=values,
            shares=np.array(document["shares"], dtype=np.float64),
        )


def grown(values: npt.NDArray[np.uint8], names: npt.NDArray[np.str_]) -> Trees:
    """Grow trees.

    Parameters
    ----------
    values : ndarray of uint8, shape (n_rows, n_measurements)
    names : ndarray of str, shape (n_rows,)
        The class of each row.

    Examples
    --------
    >>> trees = grown(np.array([[1], [9]], dtype=np.uint8), np.array(["bbr", "reno"]))
    >>> trees.classes, trees.probabilities(np.array([[7]], dtype=np.uint8)).sum()
    (('bbr', 'reno'), np.float64(1.0))
    """
    from sklearn.ensemble import ExtraTreesClassifier  # noqa: PLC0415 - most of a second

    # Not with n_jobs: threads would empty this process's list of warning filters, and add the
    # trees' results in any order, which changes the last digits.
    forest = ExtraTreesClassifier(
        _TREES, max_features=_FEATURES, class_weight="balanced", random_state=0
    ).fit(values, names)
    features, least, shares, sizes = [], [], [], []
    for estimator in forest.estimators_:
        tree = estimator.tree_
        order = _by_level(tree.children_left, tree.children_right)
        is_leaf = tree.children_left[order] < 0
        features.append(np.where(is_leaf, _LEAF, tree.feature[order]))
        least.append(np.where(is_leaf, 0, np.floor(tree.threshold[order])))
        shares.append(tree.value[order[is_leaf], 0])
        sizes.append(len(order))
    distinct, of_leaf = np.unique(np.concatenate(shares), axis=0, return_inverse=True)
    every = np.concatenate(features).astype(np.uint8)
    nodes = np.concatenate(least)
    nodes[every == _LEAF] = of_leaf.ravel()
    return Trees(
        classes=tuple(forest.classes_.tolist()),
        sizes=np.array(sizes),
        features=every,
        values=nodes.astype(np.int32),
        shares=distinct,
    )


def key(values: npt.NDArray[np.uint8], names: npt.NDArray[np.str_]) -> str:
    """Return the digest of the rows from which trees are grown: 16 hexadecimal digits."""
    digest = hashlib.sha256(repr((values.shape, _TREES, _FEATURES)).encode())
    digest.update(values.tobytes())
    digest.update("\n".join(names.tolist()).encode())
    return digest.hexdigest()[:16]


def _by_level(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the nodes of a tree by level, branches in the order of their splits."""
    levels = [np.zeros(1, dtype=np.int64)]
    while len(levels[-1]):
        splits = levels[-1][left[levels[-1]] >= 0]
        levels.append(np.stack([left[splits], right[splits]], axis=1).ravel())
    return np.concatenate(levels)
