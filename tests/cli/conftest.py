"""A current directory with models and data in files, and the program that is run there."""

from __future__ import annotations

import shutil

import joblib
import pytest
from gate_samples import Fails, Foreign, classifier, people, regressor
from light_skops import skops

from skfairtest.__main__ import main


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    frame = people()
    X, y = frame.drop(columns="hired"), frame["hired"]
    frame.to_csv(folder / "data.csv", index=False)
    numbers = frame[["age", "income"]].assign(sex=(frame["sex"] == "m") * 1)
    numbers.to_csv(folder / "numbers.csv", index=False)
    joblib.dump(classifier(frame), folder / "model.joblib")
    skops.io.dump(classifier(frame), folder / "model.skops")
    skops.io.dump(regressor(frame), folder / "numbers.skops")
    skops.io.dump(Foreign().fit(X, y), folder / "foreign.skops")
    skops.io.dump(Fails().fit(X, y), folder / "fails.skops")
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """The files in a current directory of the test's own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here, capsys):
    """Run a command; its exit code, standard output and standard error."""

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
