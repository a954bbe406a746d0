"""
================================================
Can a model behind a slow, flaky URL be audited?
================================================

A model is often a service: rows go to a URL, predictions come back, slowly, and now and then not at
all. This example starts such a service on this machine (nothing leaves it): each request takes a
while, one in ten is refused for the moment, and more than forty a second are too many. The auditor
takes it for a model like any other, and searches for the twins (two inputs that are identical but
for the sensitive attributes) that it treats most differently. The applications, the lender and the
three communities are invented.
"""

# %%
# A service that fails now and then
# ---------------------------------
# It is a lender's rule that decides on loans. Every tenth request gets the status 503 (not
# available now), and a little later the same request is answered.

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import matplotlib.pyplot as plt
import pandas as pd

from skfairtest import HistoryDisplay, RandomAuditor, RemoteClassifier
from skfairtest.datasets import load_loans

loans = load_loans()
X, model = loans.data, loans.estimator
refused = []
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.08)
        with lock:
            refused.append(len(refused) % 10 == 9)
            status = 503 if refused[-1] else 200
        rows = pd.DataFrame(asked["rows"], columns=asked["columns"])
        body = json.dumps({"predictions": model.predict_proba(rows).tolist()}).encode()
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

service = RemoteClassifier(
    f"http://127.0.0.1:{server.server_port}/loans",
    classes=model.classes_,
    batch_size=20,
    n_connections=4,
    rate=40,
    backoff=0.1,
    random_state=0,
)
settings = {"sensitive_features": "community", "max_queries": 1500, "random_state": 0}
auditor = RandomAuditor(service, **settings).fit(X)
server.shutdown()
server.server_close()
print(auditor.worst_case_.T.to_string(header=False))
print(
    f"{auditor.n_queries_} queries in {service.n_requests_} requests, {service.n_retries_} of them "
    f"second attempts; {service.n_failures_} batches without an answer"
)

# %%
# The same audit in memory
# ------------------------
# A refused request costs a second attempt and no row: the same seed finds the same twins in a model
# that is in memory.

in_memory = RandomAuditor(model, **settings).fit(X)
print(f"{auditor.fairness_degree_:.4f} by the service, {in_memory.fairness_degree_:.4f} in memory")
courses = {"through the flaky service": auditor, "model in memory": in_memory}
display = HistoryDisplay.from_auditors(courses).plot(x="seconds")
display.figure_.suptitle(
    "One request in ten is refused, and still the audit finds what it\n"
    f"finds in memory: {auditor.fairness_degree_:.2f} as the largest difference"
)
plt.show()

# %%
# What this does not show
# -----------------------
# The largest difference found is a lower bound: the search saw part of the inputs. And a real
# service may be slower by far; the number of queries says beforehand how many rows it will get.
