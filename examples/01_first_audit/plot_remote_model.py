"""
================================================
Can a model behind a slow, flaky URL be audited?
================================================

A model is often a service: rows go to a URL, predictions come back, slowly, and now and then not at
all. This example starts such a service on this machine (nothing leaves it): each request takes a
while, one in ten is refused for the moment, and more than forty a second are too many. The auditor
takes it for a model like any other, and searches for the twins (two inputs that are identical but
for the sensitive attributes) that it treats most differently. The data are invented, and so is the
effect of ``sex``.
"""

# %%
# A service that fails now and then
# ---------------------------------
# It has a model with a dependence on ``sex`` that was planted. Every tenth request gets the status
# 503, and a little later the same request is answered.

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skfairtest import RandomAuditor, RemoteRegressor
from skfairtest.datasets import make_biased_regression

bunch = make_biased_regression(n_samples=500, random_state=0)
X, model = bunch.data, bunch.estimator
log = []
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        began = time.perf_counter()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.08)
        with lock:
            number = len(log)
            status = 503 if number % 10 == 9 else 200
            log.append((began, time.perf_counter(), status))
        rows = pd.DataFrame(asked["rows"], columns=asked["columns"])
        body = json.dumps({"predictions": model.predict(rows).tolist()}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Print nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()

# %%
# The audit
# ---------
# Batches of 20 rows, four requests under way at a time, at most forty a second.

service = RemoteRegressor(
    f"http://127.0.0.1:{server.server_port}/wages",
    batch_size=20,
    n_connections=4,
    rate=40,
    backoff=0.1,
    random_state=0,
)
auditor = RandomAuditor(service, sensitive_features="sex", max_queries=1500, random_state=0).fit(X)
server.shutdown()
server.server_close()
print(auditor.worst_case_.to_string())
print(f"outputs of the two: {np.round(auditor.worst_case_outputs_, 2)}")
print(
    f"{auditor.n_queries_} queries in {service.n_requests_} requests, {service.n_retries_} of them "
    f"second attempts; {service.n_failures_} batches without an answer"
)

# %%
# What happened over time
# -----------------------
# Each line is a request. Refused ones cost a retry, and no row: the same seed finds the same twins
# in a model that is in memory.

began = min(start for start, _, _ in log)
fig, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
for status, color, label in [(200, "C0", "answered"), (503, "C1", "refused, tried again")]:
    mine = [(k, start, end) for k, (start, end, said) in enumerate(sorted(log)) if said == status]
    numbers, starts, ends = map(np.array, zip(*mine, strict=True))
    ax.hlines(numbers, starts - began, ends - began, color=color, label=label, linewidth=3)
ax.set(xlabel="seconds", ylabel="request", title="Requests of one audit")
ax.legend(loc="lower right")
plt.show()

# %%
# The degree found is a lower bound: the search saw part of the inputs.

in_memory = RandomAuditor(model, sensitive_features="sex", max_queries=1500, random_state=0).fit(X)
print(f"{auditor.fairness_degree_:.4f} by the service, {in_memory.fairness_degree_:.4f} in memory")
