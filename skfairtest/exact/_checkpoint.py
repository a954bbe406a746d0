"""Save the state of a search in one step, and load it for the same model."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from skfairtest._typing import Floats

#: What a file says that it is.
FORMAT = "skfairtest certificate 3"


class Checkpoint:
    """File in which the state of a search is saved.

    Parameters
    ----------
    path : Path
        Of the file, which need not be there yet.
    identity : str
        What tells the model and the domain from others.

    Attributes
    ----------
    state : dict of str to ndarray, or None
        What the file held; None where there was none.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self.identity = path, identity
        self.state = load_state(path, identity)

    def save(self, state: dict[str, Floats]) -> None:
        """Save the present state."""
        save_state(self.path, self.identity, state)


def check_path(path: Path) -> None:
    """Check that a file can be written before the search begins.

    Parameters
    ----------
    path : Path
        Of the file.

    Raises
    ------
    ValueError
        If it cannot.
    """
    try:
        if path.is_dir():
            raise ValueError(f"resume={str(path)!r} is a folder. Name a file in it.")
        if not path.parent.is_dir():
            raise ValueError(
                f"resume={str(path)!r} must be a file in a folder that exists; there is no folder "
                f"{str(path.parent)!r}. Make it, or give another path."
            )
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    except OSError as error:
        raise ValueError(
            f"resume={str(path)!r} cannot be written ({type(error).__name__}: {error}). Give a "
            "path in a folder that you may write to."
        ) from error
    os.close(descriptor)
    Path(name).unlink()


def save_state(path: Path, identity: str, state: dict[str, Floats]) -> None:
    """Save a state; if the process is killed meanwhile, the earlier state remains.

    Parameters
    ----------
    path : Path
        Of the file.
    identity : str
        What tells the model and the domain from others.
    state : dict of str to ndarray
        The state.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            arrays = {"format": np.array(FORMAT), "identity": np.array(identity), **state}
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_state(path: Path, identity: str) -> dict[str, Floats] | None:
    """Load a state.

    Parameters
    ----------
    path : Path
        Of the file.
    identity : str
        Of the model and the domain at hand.

    Returns
    -------
    dict of str to ndarray, or None
        None where there is no file yet.

    Raises
    ------
    ValueError
        If the file is none of ours, is cut off, or belongs to another model or domain.
    """
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            state = {name: file[name] for name in file.files}
        known = str(state.pop("format")) == FORMAT and "identity" in state
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"resume={str(path)!r} cannot be read ({type(error).__name__}: {error}). Expected a "
            "file that certify(resume=...) has written; delete it to begin anew."
        ) from error
    if not known:
        raise ValueError(
            f"resume={str(path)!r} was written in another format. Delete it to begin anew."
        )
    if str(state.pop("identity")) != identity:
        raise ValueError(
            f"resume={str(path)!r} belongs to another model or another domain. Give another path, "
            "or delete the file to begin anew."
        )
    return state
