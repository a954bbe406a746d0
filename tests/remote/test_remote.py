"""Models that are services: a small server on loopback fails, is slow, limits, and goes away."""

import contextlib
import copy
import json
import pickle
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from clocks import HANGING
from sklearn.base import clone, is_classifier, is_regressor

from skfairtest import (
    EstimatorFailedError,
    RandomAuditor,
    RemoteClassifier,
    RemoteModelError,
    RemoteRegressor,
)
from skfairtest.remote._headers import Headers
from skfairtest.remote._transport import Service as Transport

SECRET = "Bearer 0123456789abcdef"
X = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(20, 60), "pay": [None, 2.5] * 20})


def wage(row):
    sex, age = row[0], row[1]
    return float(age) + (3.0 if sex == "m" else 0.0)


class Service:
    """What a test wants of the server; `answer` gets the number of the request and its rows."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seen, self.headers, self.at, self.under_way, self.most = [], [], [], 0, 0
        self.answer = lambda number, rows: (200, {}, {"predictions": [wage(r) for r in rows]})
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                rows = json.loads(body)["rows"] if body[:1] == b"{" else body
                with service.lock:
                    number = len(service.seen)
                    service.seen.append(rows)
                    service.headers.append(dict(self.headers))
                    service.at.append(time.monotonic())
                    service.under_way += 1
                    service.most = max(service.most, service.under_way)
                reply = service.answer(number, rows)
                with service.lock:
                    service.under_way -= 1
                if reply is None:  # hang up
                    self.close_connection = True
                    return
                status, headers, answer = reply
                answer = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the client has given up
                    self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/predict"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def service(request):
    """A server of its own for a test, which belongs to the tier of services."""
    assert request.node.get_closest_marker("services")
    running = Service()
    yield running
    running.stop()


def remote(service, **params):
    quick = {"batch_size": 8, "backoff": 0.01, "timeout": HANGING, "random_state": 0}
    return RemoteRegressor(service.url, **{**quick, **params})


EXPECTED = np.array([wage(row) for row in X.to_numpy().tolist()])


@pytest.mark.services
def test_predictions_come_in_the_order_of_the_rows(service):
    model = remote(service)
    np.testing.assert_array_equal(model.predict(X), EXPECTED)
    assert (model.n_requests_, model.n_retries_, model.n_failures_) == (5, 0, 0)
    assert sorted(map(len, service.seen)) == [8] * 5
    assert service.seen[0][0][2] is None  # a missing value is null


@pytest.mark.services
@pytest.mark.parametrize("kind", ["array", "polars"])
def test_other_tables_travel_as_well(service, kind):
    if kind == "polars":
        table = pytest.importorskip("polars").from_pandas(X)
    else:
        table = X.to_numpy(dtype=object)
    np.testing.assert_array_equal(remote(service).predict(table), EXPECTED)


@pytest.mark.services
def test_no_row_asks_nothing(service):
    assert remote(service).predict(X[:0]).shape == (0,)
    assert service.seen == []


@pytest.mark.services
def test_several_requests_are_under_way_and_no_more(service):
    barrier = threading.Barrier(3, timeout=HANGING)
    plain = service.answer

    def together(number, rows):
        if number < 3:
            barrier.wait()
        return plain(number, rows)

    service.answer = together
    remote(service, n_connections=3).predict(X)
    assert service.most == 3


@pytest.mark.services
@pytest.mark.parametrize("status", [429, 502, 503, 504, None])
def test_failures_that_pass_are_tried_again(service, status):
    plain, failed = service.answer, set()

    def flaky(number, rows):
        key = json.dumps(rows)
        if key not in failed:
            failed.add(key)
            return None if status is None else (status, {}, b"later")
        return plain(number, rows)

    service.answer = flaky
    model = remote(service)
    np.testing.assert_array_equal(model.predict(X), EXPECTED)
    assert (model.n_requests_, model.n_retries_, model.n_failures_) == (10, 5, 0)


@pytest.mark.services
def test_an_answer_that_takes_too_long_is_tried_again(service, monkeypatch):
    """Only the first connection has little patience, and is not answered before the second."""
    plain, retried, released = service.answer, threading.Event(), threading.Event()
    opened, connect = [], Transport._connection

    def slow(number, rows):
        if not retried.is_set():
            released.wait(HANGING)
        return plain(number, rows)

    def connection(self):
        opened.append(connect(self))
        if len(opened) == 1:
            opened[0].timeout = 0.2
        else:
            retried.set()
        return opened[-1]

    service.answer = slow
    monkeypatch.setattr(Transport, "_connection", connection)
    model = remote(service, batch_size=100)
    np.testing.assert_array_equal(model.predict(X), EXPECTED)
    released.set()
    assert model.n_retries_ == 1


@pytest.mark.services
def test_an_answer_that_is_cut_off_is_tried_again(service):
    plain = service.answer

    def cut(number, rows):
        if number == 0:
            return 200, {"Content-Length": "1000", "Connection": "close"}, b'{"predictions": ['
        return plain(number, rows)

    service.answer = cut
    model = remote(service, batch_size=100)
    np.testing.assert_array_equal(model.predict(X), EXPECTED)
    assert model.n_retries_ == 1


@pytest.mark.services
def test_retry_after_is_kept_to_by_all_threads(service):
    plain = service.answer
    service.answer = lambda number, rows: (
        (429, {"Retry-After": "0.4"}, b"") if number == 0 else plain(number, rows)
    )
    remote(service, n_connections=1, backoff=0.0).predict(X)
    assert service.at[1] - service.at[0] >= 0.4


@pytest.mark.services
def test_a_service_that_asks_for_a_very_long_pause_is_down(service):
    service.answer = lambda number, rows: (503, {"Retry-After": "3600"}, b"maintenance")
    model = remote(service, batch_size=100)
    with pytest.raises(RemoteModelError, match="asks to wait 3600 s, more than max_delay=60"):
        model.predict(X)
    assert (model.n_requests_, model.n_failures_) == (1, 1)


@pytest.mark.services
def test_rate_limit_spaces_requests(service):
    began = time.monotonic()
    remote(service, rate=50, n_connections=4).predict(X)
    assert len(service.at) == 5
    # None comes before its turn, however long it then takes.
    assert (np.sort(service.at) - began >= np.arange(5) / 50 - 1e-3).all()


@pytest.mark.services
@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_other_statuses_are_errors_at_once(service, status):
    service.answer = lambda number, rows: (status, {}, b"what is wrong: no such column")
    model = remote(service, batch_size=100)
    with pytest.raises(RemoteModelError, match=f"status {status}: 'what is wrong") as caught:
        model.predict(X)
    assert caught.value.status == status
    assert (model.n_requests_, model.n_retries_, model.n_failures_) == (1, 0, 1)


@pytest.mark.services
def test_after_the_last_retry_it_is_an_error_and_what_was_answered_is_kept(service):
    plain, is_down = service.answer, [True]

    def one_fails(number, rows):
        if rows[0][1] == 36 and is_down[0]:
            return 503, {}, b"down"
        return plain(number, rows)

    service.answer = one_fails
    model = remote(service, n_connections=1, max_retries=2)
    with pytest.raises(RemoteModelError, match=r"after 3 attempts.*2 were answered and are kept"):
        model.predict(X)
    assert (model.n_retries_, model.n_failures_) == (2, 1)
    is_down[0] = False
    before = len(service.seen)
    np.testing.assert_array_equal(model.predict(X), EXPECTED)
    assert len(service.seen) - before == 3  # of five batches two are known
    model.predict(X)
    assert len(service.seen) - before == 8  # and after a success nothing is remembered


@pytest.mark.services
def test_redirects_stay_on_the_host(service):
    plain = service.answer
    service.answer = lambda number, rows: (
        (307, {"Location": "/elsewhere"}, b"") if number == 0 else plain(number, rows)
    )
    np.testing.assert_array_equal(remote(service, batch_size=100).predict(X), EXPECTED)
    other = Service()
    service.answer = lambda number, rows: (307, {"Location": other.url}, b"")
    with pytest.raises(RemoteModelError, match="redirects to another host"):
        remote(service, headers={"Authorization": SECRET}).predict(X)
    other.stop()
    assert other.seen == []


@pytest.mark.services
@pytest.mark.services
@pytest.mark.parametrize(
    ("answer", "told"),
    [(b"<html>", "cannot be read"), ({"scores": []}, "'predictions' among the keys"),
     ({"predictions": [1.0]}, r"one prediction for each of 40 rows"),
     ({"predictions": ["a"] * 40}, "must give numbers")],
)  # fmt: skip
def test_answers_that_are_none_are_errors(service, answer, told):
    service.answer = lambda number, rows: (200, {}, answer)
    with pytest.raises(RemoteModelError, match=told):
        remote(service, batch_size=100).predict(X)


@pytest.mark.services
def test_encode_and_decode_are_the_users(service):
    service.answer = lambda number, body: (200, {}, b"\n".join([b"7"] * body.count(b";")))
    model = remote(
        service,
        encode=lambda table: "".join(f"{age};" for age in table["age"]),
        decode=lambda body: [float(line) for line in body.split()],
        content_type="text/plain",
    )
    np.testing.assert_array_equal(model.predict(X), np.full(40, 7.0))
    assert service.headers[0]["Content-Type"] == "text/plain"


# Secrets ---------------------------------------------------------------------------------------


@pytest.mark.services
def test_secrets_are_sent_and_neither_shown_nor_saved(service):
    model = remote(service, headers={"Authorization": SECRET})
    model.predict(X)
    assert service.headers[0]["Authorization"] == SECRET
    again = clone(model)
    assert dict(again.headers) == {"Authorization": SECRET}
    again.set_params(headers={"Authorization": SECRET + "!"})
    shown = [repr(m) + str(m.get_params()) + m._repr_html_() for m in (model, again)]
    auditor = RandomAuditor(model, sensitive_features="sex", max_queries=100, random_state=0)
    shown += [auditor._repr_html_(), repr(auditor)]
    assert not any("0123456789" in text for text in shown)
    assert "Authorization" in shown[0]
    for thing in (model, auditor.fit(X)):
        assert b"0123456789" not in pickle.dumps(thing)
    read = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="headers \\['Authorization'\\] are missing"):
        read.predict(X)
    read.set_params(headers={"Authorization": SECRET})
    np.testing.assert_array_equal(read.predict(X), EXPECTED)


@pytest.mark.services
def test_a_server_that_repeats_a_secret_does_not_get_it_into_messages(service):
    service.answer = lambda number, rows: (403, {}, f"bad key {SECRET[7:]}".encode())
    with pytest.raises(RemoteModelError) as caught:
        remote(service, headers={"Authorization": SECRET}).predict(X)
    assert "bad key ***" in str(caught.value)


@pytest.mark.services
def test_headers_of_a_callable_are_asked_for_at_each_call(service):
    remote(service, headers=lambda: {"X-Key": "one"}).predict(X)
    assert service.headers[-1]["X-Key"] == "one"


def test_headers_copy_and_forget():
    headers = Headers({"A": "secret-value"})
    assert copy.deepcopy(headers)["A"] == copy.copy(headers)["A"] == "secret-value"
    assert pickle.loads(pickle.dumps(headers)).left_out == ["A"]
    assert "secret" not in repr(headers)


# Classifiers, and auditors ----------------------------------------------------------------------


@pytest.mark.services
def test_classifier_of_probabilities(service):
    service.answer = lambda number, rows: (200, {}, [1 / (1 + np.exp(40 - wage(r))) for r in rows])
    model = RemoteClassifier(service.url, classes=["no", "yes"])
    assert is_classifier(model) and is_regressor(RemoteRegressor(service.url))
    proba = model.predict_proba(X)
    assert proba.shape == (40, 2)
    np.testing.assert_array_equal(model.predict(X) == "yes", EXPECTED > 40)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.services
def test_classifier_of_labels(service):
    service.answer = lambda number, rows: (
        200, {}, {"predictions": ["yes" if wage(r) > 40 else "no" for r in rows]}
    )  # fmt: skip
    model = RemoteClassifier(service.url, classes=["no", "yes"], returns="labels")
    assert not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.predict(X) == "yes", EXPECTED > 40)
    model.set_params(classes=["no", "maybe"])
    with pytest.raises(RemoteModelError, match="labels among classes"):
        model.predict(X)


@pytest.mark.services
def test_an_auditor_of_a_service_finds_what_it_does(service):
    auditor = RandomAuditor(
        remote(service, batch_size=100), sensitive_features="sex", max_queries=400, random_state=0
    ).fit(X)
    assert auditor.fairness_degree_ == 3.0
    assert auditor.audit_rows(iter([X[:10], X[10:]])).rate == 1.0


@pytest.mark.services
def test_a_service_that_is_killed_midway_leaves_what_was_found(service):
    plain = service.answer

    def dies(number, rows):
        if number == 6:
            threading.Thread(target=service.stop).start()
        return plain(number, rows) if number < 6 else None

    service.answer = dies
    model = remote(service, batch_size=100, max_retries=2)
    auditor = RandomAuditor(model, sensitive_features="sex", max_queries=20_000, random_state=0)
    with pytest.raises(EstimatorFailedError, match="RemoteModelError") as caught:
        auditor.fit(X.assign(pay=np.sqrt(np.arange(40))))
    assert isinstance(caught.value.__cause__, RemoteModelError)
    assert model.n_failures_ >= 1
    assert auditor.stop_kind_ == "failed"
    assert auditor.fairness_degree_ == 3.0


@pytest.mark.parametrize(
    ("params", "told"),
    [({"url": "ftp://a.example/x"}, "begins with http"), ({"url": "a.example"}, "begins with http"),
     ({"url": "http://me:pw@a.example/"}, "no user and no password"), ({"url": 3}, "whole address"),
     ({"batch_size": 0}, "batch_size"), ({"n_connections": 0}, "n_connections"),
     ({"rate": 0}, "rate"), ({"timeout": 0}, "timeout"), ({"max_retries": -1}, "max_retries"),
     ({"backoff": -1}, "backoff"), ({"encode": 3}, "encode must be"),
     ({"headers": "x"}, "headers")],
)  # fmt: skip
def test_parameters_are_checked_before_a_request(params, told):
    model = RemoteRegressor("http://127.0.0.1:9/").set_params(**params)
    with pytest.raises((TypeError, ValueError), match=told):
        model.predict(X)


@pytest.mark.parametrize(
    ("params", "told"), [({}, "classes must be"), ({"returns": "x"}, "returns")]
)
def test_classifiers_say_what_they_lack(params, told):
    classes = {"classes": [0, 1]} if params else {}
    with pytest.raises(ValueError, match=told):
        RemoteClassifier("http://127.0.0.1:9/", **classes, **params).predict(X)
