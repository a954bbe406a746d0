"""Compute a digest that identifies a model as it was read, and its domain.

A search that goes on from a file must be about the same model to the last leaf: a rare leaf shows
in none of thousands of inputs. So all that was read goes into the digest, the trees, weights, links
and steps, and not what they say of some inputs. It is the same on every machine, since what was
read are numbers that were kept and not worked out, as a rule; the rest is rounded.
"""

from __future__ import annotations

import hashlib
import types
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skfairtest.exact._bracketing import Family
from skfairtest.exact._composite import CompositeFamily
from skfairtest.exact._constrained import ConstrainedFamily
from skfairtest.exact._expression import Answer
from skfairtest.exact._linear import LinearFamily
from skfairtest.exact._mixture import MixtureFamily
from skfairtest.exact._networks.family import NetworkFamily
from skfairtest.exact._polynomial import PolynomialFamily
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._tree_model import Group, Nodes, Part

#: Values of a column that are looked up in the table, and random inputs whose validity is asked.
N_VALUES, N_ASKED = 2_000, 2_000


def identity(family: Family, space: InputSpace, response: str) -> str:
    """Return a digest of a model as it was read, and of its domain.

    Parameters
    ----------
    family : Family
        The model, read out.
    space : InputSpace
        The inputs that exist.
    response : str
        How the model is asked.

    Returns
    -------
    str
        Different for any two that may differ in a bound.

    Raises
    ------
    ValueError
        If a step holds something that cannot be put into words.
    """
    domain = [
        space.domain.low,
        space.domain.high,
        space.domain.discrete,
        space.domain.single,
        space.sensitive,
    ]
    # Narrow constraints admit none of these inputs; what they say still tells them apart.
    admitted = space.valid(space.domain.draw(N_ASKED, np.random.default_rng(0)))
    said = [response, family, *domain, space.conditions, admitted, _meant(space)]
    return _Digests().of(said).hex()


def _meant(space: InputSpace) -> list[Any]:
    """Return what the codes of each attribute stand for in the table."""
    codes = [
        np.linspace(low, high, int(min(N_VALUES, high - low + 1)) if whole else 2)
        for low, high, whole in zip(
            space.domain.low, space.domain.high, space.domain.discrete, strict=True
        )
    ]
    n = max(len(own) for own in codes)
    Z = space.domain.clip(np.column_stack([np.resize(own, n) for own in codes]))
    table = space.decode(Z)
    if isinstance(table, np.ndarray):
        return [table]
    return [[str(name), np.asarray(table[name])] for name in table.columns]


class _Digests:
    """Digests of objects, computed from those of their parts; equal objects have equal ones."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._kept: list[Any] = []  # so that no other object gets the id of a known one
        self._inside: list[int] = []  # what is being looked at, for things that hold themselves
        self._numbers: dict[tuple[int, str], int] = {}  # of the models inside of another

    def of(self, thing: Any) -> bytes:
        """Return the digest of an object."""
        if isinstance(thing, np.generic) and not isinstance(thing, np.void):
            thing = thing.item()
        if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes, bytearray)):
            return _hashed(type(thing).__name__, repr(thing).encode())
        if isinstance(thing, (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)):
            return _hashed("name", _name(thing).encode())
        if isinstance(thing, np.ndarray) and thing.dtype.kind not in "OV":
            own = f"{thing.shape} {thing.dtype.str}".encode()
            return _hashed("array", own + b" " + np.ascontiguousarray(thing).tobytes())
        key = id(thing)
        if key in self._inside:
            return _hashed("inside", str(self._inside.index(key)).encode())
        if key not in self._known:
            self._inside.append(key)
            kind, parts = self._parts(thing)
            found = _hashed(kind, b"".join(self.of(part) for part in parts))
            self._inside.pop()
            self._known[key] = found
            self._kept.append(thing)
        return self._known[key]

    def _parts(self, thing: Any) -> tuple[str, list[Any]]:
        """Return the type of an object, and its parts."""
        if isinstance(thing, np.ndarray) and thing.dtype.names:
            # What is between the fields of records may be anything.
            return "records", [part for name in thing.dtype.names for part in (name, thing[name])]
        if isinstance(thing, np.ndarray):
            return "objects", [thing.shape, *thing.ravel().tolist()]
        if sparse.issparse(thing):
            own = thing.tocsr()
            return "sparse", [own.shape, own.data, own.indices, own.indptr]
        if isinstance(thing, (pd.Index, pd.Series)):
            return "column", [str(thing.dtype), np.asarray(thing)]
        if isinstance(thing, (list, tuple)):
            return type(thing).__name__, list(thing)
        if isinstance(thing, dict):
            return "dict", [part for key in sorted(thing, key=repr) for part in (key, thing[key])]
        if isinstance(thing, (set, frozenset)):
            return "set", sorted(thing, key=repr)
        if isinstance(thing, types.CodeType):
            return "code", [thing.co_code, thing.co_consts, thing.co_names]
        if isinstance(thing, types.FunctionType):
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            return "function", [thing.__code__, thing.__defaults__, thing.__kwdefaults__, *cells]
        if isinstance(thing, types.MethodType):
            return "method", [_name(thing.__func__), thing.__self__]
        return _name(type(thing)), self._read(thing)

    def _read(self, thing: Any) -> list[Any]:
        """Return the parts that matter of an object that was read; of others, all that is saved."""
        if isinstance(thing, Answer):
            return [self._numbers[id(thing.estimator), thing.response], thing.output]
        if isinstance(thing, CompositeFamily):
            self._numbers |= {key: number for number, key in enumerate(thing.families)}
            return [thing.nodes, *thing.families.values()]
        if isinstance(thing, TreeFamily):
            return list(thing.outputs)
        if isinstance(thing, ConstrainedFamily):
            return [thing.base]
        if isinstance(thing, MixtureFamily):
            return [thing.strength, thing.parts, thing.inner, thing.rest]
        if isinstance(thing, (LinearFamily, NetworkFamily, PolynomialFamily)):
            return list(thing.as_read)
        if isinstance(thing, Group):
            return [thing.link, thing.weight, thing.parts]
        if isinstance(thing, Part):
            # Some are what a sum leaves, which is rounded one way here and another way there.
            return [float(f"{thing.base:.12g}"), thing.trees]
        if isinstance(thing, Nodes):
            return [thing.features, thing.tests, thing.left, thing.right, thing.value, thing.roots]
        if isinstance(thing, Features):
            return [thing.steps, thing.last]
        if is_dataclass(thing):
            return [getattr(thing, part.name) for part in fields(thing)]
        return _saved(thing)


def _saved(thing: Any) -> list[Any]:
    """Return what an object is saved with."""
    try:
        _, made_of, *state = thing.__reduce_ex__(4)
    except Exception as error:  # each class has its own way of refusing
        raise ValueError(
            f"resume= must tell the model from others, but {type(thing).__name__} in it cannot be "
            f"saved ({type(error).__name__}: {error}). Certify without resume=."
        ) from error
    # The last two are the items of lists and of dicts.
    return [made_of, *(list(part) if k else part for k, part in enumerate(state[:3]) if part)]


def _hashed(kind: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{kind} {len(content)}:".encode() + content).digest()


def _name(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', thing.__name__)}"
