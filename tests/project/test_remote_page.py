"""docs/how_to/remote_models.md: its estimator, with a real server on this machine."""

from __future__ import annotations

import importlib
import json
import pickle
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from clocks import HANGING
from places import TOP

from skfairtest import RandomAuditor
from skfairtest.datasets import load_loans
from skfairtest.exceptions import EstimatorFailedError

pytestmark = pytest.mark.services("httpx")
PAGE = (TOP / "docs" / "how_to" / "remote_models.md").read_text("utf-8")
#: The estimator, and how it is used.
CODE, USE = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
LOANS = load_loans()


class Service:
    """A model behind a URL; `refuses` gets the number of a request, and may return a status."""

    def __init__(self, model):
        self.refuses = lambda number: None
        self.sizes, self.tokens, lock = [], set(), threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    service.sizes.append(len(asked["rows"]))
                    service.tokens.add(self.headers["Authorization"])
                    status = service.refuses(len(service.sizes) - 1)
                if status == "hangs up":
                    self.close_connection = True
                    return
                rows = pd.DataFrame(asked["rows"], columns=asked["columns"])
                body = json.dumps({"predictions": model.predict_proba(rows).tolist()}).encode()
                self.send_response(status or 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/loans"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def service():
    own = Service(LOANS.estimator)
    yield own
    own.server.shutdown()
    own.server.server_close()


@pytest.fixture
def remote(service, tmp_path, monkeypatch):
    """The estimator of the page, in a file as it says."""
    (tmp_path / "served.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TOKEN", "1234")
    module = importlib.import_module("served")
    module.CLIENT.timeout = HANGING
    yield module.ServedClassifier(service.url, LOANS.estimator.classes_, batch_size=20, delay=0.01)
    module.CLIENT.close()
    del sys.modules["served"]


def test_the_page_has_forty_lines_at_most():
    assert sum(bool(line.strip()) for line in CODE.splitlines()) <= 40
    compile(USE, "remote_models.md", "exec")


def test_an_audit_of_a_flaky_service_finds_what_it_finds_in_memory(service, remote):
    service.refuses = lambda number: {3: 503, 5: "hangs up", 6: 429}.get(number % 10)
    settings = {"sensitive_features": "community", "max_queries": 1500, "random_state": 0}
    there = RandomAuditor(remote, **settings).fit(LOANS.data)
    here = RandomAuditor(LOANS.estimator, **settings).fit(LOANS.data)
    pd.testing.assert_frame_equal(there.discriminatory_inputs_, here.discriminatory_inputs_)
    np.testing.assert_array_equal(there.disparities_, here.disparities_)
    assert there.n_queries_ == here.n_queries_
    assert max(service.sizes) == 20 and sum(service.sizes) > there.n_queries_
    assert service.tokens == {"Bearer 1234"}


@pytest.mark.parametrize(
    ("status", "n", "said"), [(401, 1, "401"), (503, 6, "503"), ("hangs up", 6, "disconnected")]
)
def test_what_does_not_pass_is_an_error(status, n, said, service, remote):
    service.refuses = lambda number: status
    with pytest.raises(EstimatorFailedError, match=said):
        RandomAuditor(remote, sensitive_features="community", max_queries=20).fit(LOANS.data)
    assert len(service.sizes) == n


def test_a_token_is_in_no_file(remote):
    assert b"1234" not in pickle.dumps(remote) and "1234" not in repr(remote)
