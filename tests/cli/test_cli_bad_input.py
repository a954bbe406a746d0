"""What users hand in by mistake: told before the search, with what to do, and exit code 2."""

from __future__ import annotations

import argparse
import io
import os
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gate_samples import Fails, Foreign, classifier, people, regressor
from light_skops import skops
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from tiers import SAMPLE, slow_sample

from skfairtest import AuditReport, FairnessRetrainer, RandomAuditor
from skfairtest.__main__ import main
from skfairtest.cli._data_file import DataTable, read_table
from skfairtest.cli._errors import CommandError
from skfairtest.cli._inputs import CommandInputs, read_favourable
from skfairtest.cli._model_file import load_model
from skfairtest.cli._space_file import read_space
from skfairtest.cli._training import trained_values
from skfairtest.datasets import load_loans
from skfairtest.oracle._favourable import resolve_favourable
from skfairtest.report._writing import write_file

WHO = ["--sensitive", "sex", "--target", "hired"]
QUICK = ["--max-queries", "200", "--max-time", "none", "--quiet"]
pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def refused(capsys, monkeypatch):
    """Run an audit that has to be refused before it searches; what was said."""

    def refused(*words, code=2):
        with monkeypatch.context() as patch:
            patch.setattr("skfairtest.cli._audit.run_audit", searched)
            assert main(["audit", *map(str, words)]) == code
        said = capsys.readouterr()
        assert not said.out and "Traceback" not in said.err
        return said.err

    return refused


def searched(*_):
    raise AssertionError("it searched")


def csv(frame, name="own.csv"):
    frame.to_csv(name, index=False)
    return name


# Models -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, word",
    [
        (b"", "it is empty"),
        (b"hello, world", "is no file of skops"),
        (b"PK\x03\x04 but no zip", "is no file of skops"),
        (b"PAR1", "is no file of skops"),
    ],
)
def test_a_file_that_is_no_model(refused, content, word):
    Path("no.skops").write_bytes(content)
    said = refused("no.skops", "data.csv", *WHO)
    assert word in said and "skops.io.dump" in said


def test_archives_that_are_no_model(refused):
    with zipfile.ZipFile("zip.skops", "w") as archive:
        archive.writestr("a.txt", "a")
    assert "cannot be read as a file of skops" in refused("zip.skops", "data.csv", *WHO)
    for text in ("{", "[]", '{"__class__": "dict"}', '{"__loader__": "x", "protocol": 99}'):
        with zipfile.ZipFile("bad.skops", "w") as archive:
            archive.writestr("schema.json", text)
        assert "cannot be read as a file of skops" in refused("bad.skops", "data.csv", *WHO)
    whole = Path("model.skops").read_bytes()
    Path("half.skops").write_bytes(whole[: len(whole) // 2])
    assert "is no file of skops" in refused("half.skops", "data.csv", *WHO)


def test_objects_that_are_no_fitted_model(refused):
    skops.io.dump({"a": [1]}, "dict.skops")
    said = refused("dict.skops", "data.csv", *WHO)
    assert "with a method predict" in said and "an object of type dict" in said
    skops.io.dump(LogisticRegression(), "raw.skops")
    assert "is not fitted" in refused("raw.skops", "data.csv", *WHO)


def test_a_model_that_is_not_there(refused):
    said = refused("modle.skops", "data.csv", *WHO)
    assert "There is no model file 'modle.skops'. Did you mean 'model.skops'" in said
    assert "is a folder" in refused(".", "data.csv", *WHO)
    assert "expected MODEL and DATA; DATA is missing" in refused("model.skops", *WHO)


def test_a_model_that_needs_a_package(refused):
    Path("needs_of_test.py").write_text("import not_installed_anywhere.sub\n", encoding="utf-8")
    said = refused("needs_of_test:model", "data.csv", *WHO)
    assert "needs the package 'not_installed_anywhere', which is neither installed nor" in said
    # A pickle names its module, and a file of skops does as well.
    Path("needs.pkl").write_bytes(b"\x80\x04cnot_installed_anywhere\nModel\n.")
    said = refused("needs.pkl", "data.csv", *WHO, "--unsafe-pickle")
    assert "needs the package 'not_installed_anywhere'" in said
    frame = people()
    skops.io.dump(Foreign().fit(frame, frame["hired"]), "f.skops")
    content = Path("f.skops").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile("g.skops", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"gate_samples", b"not_installed_anywhere"))
    said = refused("g.skops", "data.csv", *WHO, "--trust", "not_installed_anywhere.Foreign")
    assert "needs the package 'not_installed_anywhere'" in said


def test_a_model_that_needs_a_package_to_predict(refused):
    frame = people()
    model = Fails(error="ImportError", message="No module named 'lightgbm'")
    skops.io.dump(model.fit(frame.drop(columns="hired"), frame["hired"]), "late.skops")
    said = refused("late.skops", "data.csv", *WHO, "--trust", "gate_samples.Fails")
    assert "lightgbm" in said


def test_a_model_that_fails_on_the_rows_themselves(refused):
    frame = people()
    skops.io.dump(Fails(message="no rights").fit(frame, frame["hired"]), "f.skops")
    words = ["f.skops", "data.csv", "--sensitive", "sex", "--trust", "gate_samples.Fails"]
    said = refused(*words, code=4)
    assert "fails on the first 64 rows" in said and "no rights" in said


# Data -------------------------------------------------------------------------------------------


def test_columns_that_are_missing_and_extra(refused):
    frame = people().rename(columns={"region": "regions"}).drop(columns="age")
    said = refused("model.skops", csv(frame), *WHO)
    assert "lack columns of the model: 'age', 'region'. 'region': Did you mean 'regions'?" in said
    assert "which the model does not know: 'regions'" in said


def test_a_target_that_was_left_in(refused):
    said = refused("model.skops", "data.csv", "--sensitive", "sex")
    assert "columns that the model does not know: 'hired'" in said and "--target hired" in said
    frame = people().assign(id=1, note="x")
    said = refused("model.skops", csv(frame), *WHO)
    assert "'id', 'note'" in said and "--drop id --drop note\n" in said
    people().to_csv("index.csv")
    said = refused("model.skops", "index.csv", *WHO)
    assert "looks like an index" in said and "--drop 'Unnamed: 0'\n" in said
    said = refused("model.skops", csv(frame), "--sensitive", "sex")
    assert "If one of them is the target" in said


@slow_sample
def test_columns_that_are_left_out(capsys):
    frame = people().assign(id=1, **{"a,b": "x"})
    words = [csv(frame), *WHO, *QUICK, "--drop", "id", "--drop", "a,b"]
    assert main(["audit", "model.skops", *words]) == 0


def test_a_model_that_knows_the_number_of_columns_only(refused):
    frame = people()[["age", "income"]].assign(sex=[0, 1] * 100)
    skops.io.dump(LinearRegression().fit(frame.to_numpy(), frame["age"]), "plain.skops")
    said = refused("plain.skops", csv(frame.assign(y=1)), "--sensitive", "sex")
    assert "trained on 3 columns; the data have 4" in said and "--target" in said


@pytest.mark.parametrize(
    "option, value, near", [("--target", "hird", "hired"), ("--drop", "incme", "income"),
                            ("--sensitive", "Sec", "sex")]
)  # fmt: skip
def test_columns_that_are_misspelt(refused, option, value, near):
    words = ["model.skops", "data.csv", *WHO, option, value]
    if option == "--sensitive":
        words = ["model.skops", "data.csv", "--target", "hired", option, value]
    said = refused(*words)
    assert f"{option} names {value!r}" in said and f"Did you mean '{near}'" in said


def test_sensitive_columns_that_the_model_does_not_see(refused):
    words = ["model.skops", "data.csv", "--target", "hired"]
    said = refused(*words)
    assert "Name the sensitive columns" in said and "'sex', 'age'" in said
    said = refused(*words, "--sensitive", "hired")
    assert "it is what the model predicts" in said


def test_strings_for_numbers(refused):
    frame = people().astype({"age": object})
    frame.loc[7, "age"] = "n/a!"
    commas = people()["income"].astype(str).str.replace(".", ",")
    for model, data, told in [
        ("model.skops", frame, "'age' holds text that the model cannot take: 'n/a!'"),
        ("model.skops", people().assign(income=commas), "'income' holds text"),
        ("numbers.skops", people().drop(columns="region"), "'sex' holds text"),
    ]:
        said = refused(model, csv(data), *WHO)
        assert f"Column {told}" in said and "a decimal point" in said


@pytest.mark.parametrize(
    "trained, given, told",
    [
        ([0, 1], ["c0", "c1"], "text ('c0', 'c1'), where it knows numbers (0, 1)"),
        ([0, 1], ["none", "1"], "text ('none', '1'), where it knows numbers (0, 1)"),
        ([True, False], ["yes", "no"], "text ('yes', 'no'), where it knows truth values"),
    ],
)
def test_codes_of_another_kind_than_at_training(refused, trained, given, told):
    frame = people()
    place = np.arange(200) % len(trained)
    X = frame[["sex", "age"]].assign(code=np.asarray(trained)[place])
    coded = OneHotEncoder(
        handle_unknown="ignore"
    )  # takes each for an unknown value, without a word
    columns = make_column_transformer((coded, ["sex", "code"]), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(X, frame["hired"])
    skops.io.dump(model, "codes.skops")
    said = refused("codes.skops", csv(X.assign(code=np.asarray(given)[place])), *WHO[:2])
    assert f"Column 'code' holds no value that the model was trained on: {told}" in said


@slow_sample
def test_new_values_of_the_same_kind_are_told(capsys):
    frame = people().assign(region="77")
    assert main(["audit", "model.skops", csv(frame), *WHO, *QUICK]) == 0
    assert "column 'region' holds no value that the model was trained on" in capsys.readouterr().err


def coded():
    """Other models than in test_values_in_files.py whose encoders know codes like numbers."""
    model, settings = classifier(people()), {"sensitive_features": ["sex"]}
    yield make_pipeline(
        make_column_transformer((OrdinalEncoder(), slice("sex", "region"))), GaussianNB()
    )
    text = HashingVectorizer(n_features=4)
    columns = make_column_transformer((text, 3), (OrdinalEncoder(), [0]), sparse_threshold=0)
    yield make_pipeline(columns, GaussianNB())
    yield TunedThresholdClassifierCV(model, cv=2)
    yield FairnessRetrainer(model, auditor=RandomAuditor(max_queries=100, **settings), max_rounds=1)


@pytest.mark.filterwarnings("ignore")  # of retrainers that have nothing to mitigate
@pytest.mark.parametrize("place", [0, 1, *(pytest.param(k, marks=SAMPLE) for k in (2, 3))])
def test_models_tell_which_codes_are_text(place):
    frame = people()
    model = list(coded())[place]
    model.fit(frame.drop(columns="hired"), frame["hired"])
    assert {"sex", "region"} <= set(trained_values(model))
    table = read_table("data.csv", model, sensitive=["sex"], target="hired")
    assert set(table.X["region"]) == {"01", "02", "10"}


@slow_sample
def test_missing_values_that_the_model_cannot_take(refused, capsys):
    frame = people()
    frame.loc[[150, 151], "age"] = np.nan
    frame.loc[3, "income"] = np.inf
    said = refused("model.skops", csv(frame), *WHO)
    assert "missing or infinite values, which 3 of 200 rows have, in 'age', 'income'" in said
    assert "imputer" in said
    # Of text the encoder takes a missing value for an unknown one, which is the model's business.
    frame = people()
    frame.loc[150, "region"] = None
    assert main(["audit", "model.skops", csv(frame), *WHO, *QUICK]) == 0


def test_empty_data(refused):
    Path("empty.csv").write_text("", encoding="utf-8")
    assert "are empty" in refused("model.skops", "empty.csv", *WHO)
    assert "hold no rows" in refused("model.skops", csv(people().head(0)), *WHO)


@slow_sample
@pytest.mark.skipif(os.name != "posix", reason="pipes have names there alone")
def test_a_pipe_with_a_name(capsys):
    os.mkfifo("pipe")
    text = Path("data.csv").read_text(encoding="utf-8")
    writer = threading.Thread(target=lambda: Path("pipe").write_text(text, encoding="utf-8"))
    writer.start()
    assert main(["audit", "model.skops", "pipe", *WHO, *QUICK]) == 0
    writer.join()


def test_one_row(refused):
    said = refused("model.skops", csv(people().head(1)), *WHO)
    assert "only one row" in said and "--space" in said


def test_one_row_with_a_space(capsys):
    Path("space.json").write_text('{"columns": {"sex": {"values": ["f", "m"]}}}', encoding="utf-8")
    words = [csv(people().head(1)), "--sensitive", "sex", "--drop", "hired", *QUICK]
    assert main(["audit", "model.skops", *words, "--space", "space.json"]) == 0


def test_one_value_of_the_sensitive_column(capsys):
    frame = people().query("sex == 'm'")
    assert main(["audit", "model.skops", csv(frame), *WHO, *QUICK]) == 2
    assert "one value only" in capsys.readouterr().err


def test_a_target_with_holes(refused):
    frame = people()
    frame.loc[3, "hired"] = None
    assert "missing in 1 of 200 rows" in refused("model.skops", csv(frame), *WHO)


def test_data_that_are_not_there_or_no_table(refused):
    assert "Did you mean 'data.csv'" in refused("model.skops", "dat.csv", *WHO)
    assert "is a folder" in refused("model.skops", ".", *WHO)
    Path("binary.csv").write_bytes(b"\xff\xfe\x00\x81,\x00\n")
    assert "cannot be read as CSV" in refused("model.skops", "binary.csv", *WHO)
    Path("ragged.csv").write_text("a,b\n1,2\n1,2,3,4\n", encoding="utf-8")
    assert "cannot be read as CSV" in refused("model.skops", "ragged.csv", *WHO)
    Path("semicolons.csv").write_text(
        Path("data.csv").read_text(encoding="utf-8").replace(",", ";")
    )
    assert "these seem to have ';'" in refused("model.skops", "semicolons.csv", *WHO)
    Path("twice.parquet").write_bytes(b"no parquet")
    said = refused("model.skops", "twice.parquet", *WHO)
    assert "Parquet" in said


# Limits and outputs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, told",
    [
        (["--max-degree", "-0.1"], "--max-degree must be a number of at least 0; got -0.1"),
        (["--max-on-data-rate", "1.5"], "--max-on-data-rate must be a number from 0 to 1"),
        (["--min-impact-ratio", "80"], "--min-impact-ratio must be a number from 0 to 1"),
        (["--max-degree", "nan"], "expected a number; got 'nan'"),
        (["--max-degree", "ten"], "expected a number; got 'ten'"),
        (["--max-degree", "1"], "can never be exceeded"),
        (["--max-degree", "2"], "can never be exceeded"),
        (["--max-group-score", "1"], "can never be exceeded"),
        (["--estimates-decide"], "needs a limit, and none is given"),
        (["--max-time", "0"], "seconds above 0"),
        (["--max-queries", "0"], "at least 1"),
        (["--seed", "-1"], "at least 0"),
        (["--max-degre", "0.1"], "Did you mean '--max-degree'"),
    ],
)
def test_limits_and_options_that_cannot_hold(refused, words, told):
    assert told in refused("model.skops", "data.csv", *WHO, *words)


def test_names_of_auditors_and_labels(run):
    for words, told in (["--auditor", "sbtf"], "'sbft'"), (["--favourable", "Yes"], "'yes'"):
        code, _, err = run("audit", "model.skops", "data.csv", *WHO, *words)
        assert code == 2 and f"Did you mean {told}" in err


@pytest.mark.parametrize("model", ["numbers.skops", "plain_of_test:model"])
@pytest.mark.parametrize(
    "words, told",
    [
        (["--max-on-data-rate", "0.1"], "--max-on-data-rate needs --threshold"),
        (["--max-moved-rate", "0.1"], "--max-moved-rate needs --threshold"),
        (["--min-impact-ratio", "0.8"], "the model predicts numbers"),
    ],
)
def test_limits_that_a_model_of_numbers_has_no_figure_for(refused, model, words, told):
    Path("plain_of_test.py").write_text(
        "class Plain:\n    def predict(self, X):\n        return 2.5 * X['sex'].to_numpy()\n"
        "model = Plain()\n",
        encoding="utf-8",
    )  # without tags
    assert told in refused(model, "numbers.csv", "--sensitive", "sex", *words)


def test_what_is_favourable_is_read_as_the_model_has_it():
    frame = people().assign(sex=lambda table: (table["sex"] == "m") * 1)
    X = frame[["sex", "age", "income"]]
    blanks = LogisticRegression().fit(X, " " + frame["hired"] + " ")
    for model, given, taken in [
        (regressor(people()), "10", 10.0),
        (regressor(people()), "mean", "mean"),
        (blanks, "yes", " yes "),
        (blanks, " yes ", " yes "),
        (LogisticRegression().fit(X, X["sex"]), "1", 1),
    ]:
        case = CommandInputs(model, DataTable(X, None, ["sex"], None), None)
        assert read_favourable(argparse.Namespace(favourable=given), case) == taken
    with pytest.raises(CommandError, match="the smallest prediction that is favourable, or mean"):
        case = CommandInputs(regressor(people()), DataTable(X, None, ["sex"], None), None)
        read_favourable(argparse.Namespace(favourable="high"), case)
    assert resolve_favourable(None, [" Granted", " Refused"]).labels == [" Granted"]


@pytest.mark.parametrize("option", ["--html", "--json", "--junit", "--markdown"])
def test_outputs_that_cannot_be_written(refused, option):
    words = ["model.skops", "data.csv", *WHO, option]
    for where in (".", "no/folder/here.x", "", "a\0b"):
        assert f"{option} " in refused(*words, where)
    assert "would replace a file that the command reads" in refused(*words, "data.csv")
    assert Path("data.csv").read_bytes()[:3] == b"sex"
    other = "--json" if option == "--html" else "--html"
    assert "both write to" in refused(*words, "a.x", other, "./a.x")
    if os.name == "posix" and os.geteuid():
        Path("locked").mkdir(mode=0o500)
        assert "cannot be written" in refused(*words, "locked/a.x")


def test_a_page_without_jinja2(refused, monkeypatch):
    monkeypatch.setattr("skfairtest.cli._audit.find_spec", lambda name: None)
    said = refused("model.skops", "data.csv", *WHO, "--html", "a.html")
    assert "skfairtest[report]" in said


def test_files_are_whole_or_not_there(monkeypatch):
    Path("a.txt").write_text("before", encoding="utf-8")
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr("os.replace", lambda *_: 1 / 0)
        write_file("a.txt", "after")
    assert Path("a.txt").read_bytes() == b"before" and len(list(Path().glob("*a.txt*"))) == 1


def test_files_keep_their_rights_and_links():
    Path("a.txt").write_text("before", encoding="utf-8")
    os.chmod("a.txt", 0o640)
    os.symlink("a.txt", "link.txt")
    write_file("link.txt", "after")
    assert Path("a.txt").read_text(encoding="utf-8") == "after" and Path("link.txt").is_symlink()
    assert os.stat("a.txt").st_mode & 0o777 == 0o640
    write_file(os.devnull, "nothing")
    assert Path(os.devnull).exists() and not Path(os.devnull).is_file()


# The space --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, told",
    [
        ("{", "is not JSON"),
        ("[]", "holds a list"),
        ('{"column": {}}', "Did you mean 'columns'"),
        ('{"columns": {"aeg": {"bounds": [1, 2]}}}', "Did you mean 'age'"),
        ('{"columns": {"age": {"bound": [1, 2]}}}', "Did you mean 'bounds'"),
        ('{"columns": {"age": {"bounds": [1]}}}', "must be a pair"),
        ('{"columns": {"age": {"bounds": [9, 2]}}}', "age"),
        ('{"columns": {"age": {"values": [1], "step": 1}}}', "values and a range at once"),
        ('{"columns": {"age": 3}}', "columns.age must be names"),
        ('{"constraints": [{"ordr": []}]}', "is not a constraint"),
        ('{"constraints": [{"order": ["age", "=<", "income"]}]}', "the relation must be one of"),
        ('{"constraints": [{"order": ["age", "<="]}]}', "a list of 3"),
        ('{"constraints": [{"if": {"sex": "f"}}]}', "no key 'then'"),
        ('{"constraints": [{"where": {"ag": 3}}]}', "Did you mean 'age'"),
        ('{"constraints": {"where": {}}}', "must be a list"),
        ('{"twins": [{"where": {"sex": "f", "age": 3}, "set": {}}]}', "one sensitive column"),
        ('{"twins": [{"wher": {}}]}', "Did you mean 'where'"),
        ('{"twins": "QuantileTransport()"}', "twins must be a list"),
        ('{"plausible": "yes"}', "plausible"),
    ],
)
def test_spaces_that_mean_nothing(capsys, text, told):
    Path("space.json").write_text(text, encoding="utf-8")
    words = ["audit", "model.skops", "data.csv", *WHO, *QUICK, "--space", "space.json"]
    assert main(words) == 2 and told in capsys.readouterr().err


SPACE = """
plausible = 0.9

[columns.age]
bounds = [20, 60]
[columns.income]
bounds = [10.0, 50.0]
step = 0.5
[columns.region]
values = ["01", "02"]

[[constraints]]
order = ["income", "<=", "age"]
offset = 20
[[constraints]]
linear = {age = 1, income = -1}
relation = ">="
limit = -15
[[constraints]]
if = {sex = "m"}
then = {age = {min = 21}}
[[constraints]]
where = {region = ["01", "02"]}
[[constraints]]
allowed = ["sex", "region"]
"""


@slow_sample
def test_a_space_is_what_it_says(capsys):
    Path("space.toml").write_text(SPACE, encoding="utf-8")
    words = ["audit", "model.skops", "data.csv", *WHO, *QUICK, "--space", "space.toml"]
    assert main([*words, "--json", "out.json"]) == 0
    domain = AuditReport.from_json("out.json").to_dict()["domain"]
    of = {attribute["name"]: attribute["domain"] for attribute in domain["attributes"]}
    assert "20" in of["age"] and "60" in of["age"] and "10" not in of["region"]
    told = " | ".join(domain["conditions"])
    for words in ("income <= age + 20", "sex = m implies age >= 21", "region in (01, 02)"):
        assert words in told


def test_what_follows_from_sensitive_values_and_groups_of_columns():
    text = """
    one_hot = {color = ["red", "green"]}
    [[constraints]]
    allowed = {red = [0, 1], green = [1, 0]}
    [[constraints]]
    if = {order = ["age", "<", "size"]}
    then = {red = 1}
    [[constraints]]
    where = {color = "red"}
    [[twins]]
    where = {sex = 1}
    set = {red = 0}
    [[twins]]
    where = {sex = 1}
    set = {green = 1}
    """
    Path("space.toml").write_text(text, encoding="utf-8")
    space = read_space("space.toml", ["sex", "age", "size", "red", "green"])
    found = space.get_params(deep=False)
    assert found["one_hot"] == {"color": ["red", "green"]}
    assert found["twins"] == {"sex": {1: {"red": 0, "green": 1}}}
    assert [str(one) for one in found["constraint"]] == [
        str(found["constraint"][0]), "age < size implies red = 1", "{'color': 'red'}",
    ]  # fmt: skip


def models_of_parts():
    """Models of scikit-learn whose files hold more than skops trusts."""
    X = load_loans(return_X_y=True)[0].head(60)
    y = np.arange(60) % 2
    text = make_column_selector(dtype_exclude="number")
    coded = make_column_transformer((OrdinalEncoder(), text), remainder=StandardScaler())
    yield X, HistGradientBoostingClassifier(max_iter=2).fit(X, y), "functools.partial"
    for last, part in [
        (RandomForestClassifier(2), "sklearn.tree._tree.Tree"),
        (KNeighborsClassifier(3), "sklearn.neighbors._kd_tree.KDTree"),
        (MLPClassifier((2,), max_iter=1), "optimizers.AdamOptimizer"),
        (CalibratedClassifierCV(GaussianNB(), cv=2), "_CalibratedClassifier"),
        (StackingClassifier([("a", GaussianNB())], cv=2), "sklearn.utils._bunch.Bunch"),
        (GridSearchCV(GaussianNB(), {}, cv=2), "make_column_selector"),
        (TunedThresholdClassifierCV(GaussianNB(), cv=2), "_CurveScorer"),
    ]:
        yield X, make_pipeline(coded, last).fit(X, y), part


@pytest.mark.filterwarnings("ignore")  # of the network, which has not converged
def test_parts_of_scikit_learns_own_models_are_trusted_and_told(capsys):
    for X, model, part in models_of_parts():
        skops.io.dump(model, "own.skops")
        assert (load_model("own.skops").predict(X) == model.predict(X)).all()
        said = capsys.readouterr().err
        assert "scikit-learn's own models, which are trusted: " in said and part in said
    skops.io.dump(FunctionTransformer(np.load), "function.skops")
    with pytest.raises(CommandError, match=r"holds types that are not of .*\n +numpy.*load"):
        load_model("function.skops")


def test_no_table_is_needed_to_say_what_is_wrong_with_limits(refused):
    said = refused("model.skops", "no.csv", *WHO, "--max-degree", "-1")
    assert "--max-degree" in said
