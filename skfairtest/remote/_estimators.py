"""RemoteClassifier and RemoteRegressor ask models that are HTTP services."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from skfairtest._delegation import LinksToDocs
from skfairtest._parameters import check_real, check_whole
from skfairtest._typing import Floats
from skfairtest.exceptions import RemoteModelError
from skfairtest.remote._headers import Headers
from skfairtest.remote._tables import array_of_json, table_as_json
from skfairtest.remote._transport import GivenUp, Service, Settings, check_url
from skfairtest.space._rows import take_rows


class RemoteModel(LinksToDocs, BaseEstimator):
    """Base of both estimators: it sends batches in threads and keeps answers of a failed call."""

    url: str
    encode: Any
    decode: Any
    content_type: str
    batch_size: int
    n_connections: int
    rate: float | None
    timeout: float
    max_retries: int
    backoff: float
    max_delay: float
    random_state: Any
    _headers: Headers | Any

    @property
    def headers(self) -> Any:
        """Headers of each request; their values are not shown."""
        return self._headers

    @headers.setter
    def headers(self, headers: Any) -> None:
        # Wrapped where it is set: representations of estimators show their parameters.
        self._headers = Headers(headers) if isinstance(headers, dict) else headers

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        # Connections stay here.
        return {k: value for k, value in state.items() if k not in ("_service", "_kept")}

    def __sklearn_is_fitted__(self) -> bool:
        """Return True, as a service is trained elsewhere."""
        return True

    def fit(self, X: Any = None, y: Any = None) -> Any:
        """Check the parameters; a service is trained elsewhere.

        Parameters
        ----------
        X, y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The estimator.
        """
        self._check()
        return self

    def _check(self) -> None:
        check_url(self.url)
        for name, least in (("batch_size", 1), ("n_connections", 1), ("max_retries", 0)):
            check_whole(name, getattr(self, name), least)
        for name in ("timeout", "max_delay", *([] if self.rate is None else ["rate"])):
            check_real(name, getattr(self, name), "(0, inf)")
        check_real("backoff", self.backoff, "[0, inf)")
        for name in ("encode", "decode"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise TypeError(
                    f"{name} must be None (JSON) or a callable; got {getattr(self, name)!r}."
                )

    def _own_headers(self) -> Headers:
        given = self.headers() if callable(self.headers) else self.headers
        if isinstance(given, Headers) and given.left_out:
            raise ValueError(
                f"The values of the headers {given.left_out!r} are missing: as they may be secret, "
                "they are not saved with the model, nor sent to other processes. Set them again by "
                "set_params(headers=...), or give a function of a module that returns them."
            )
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(
                "headers must be None, a dict of strings, or a callable that returns one; got "
                f"{type(given).__name__}."
            )
        told = {"Content-Type": self.content_type, "Accept": self.content_type}
        return Headers(told | dict(given or {}))

    def _own_service(self) -> Service:
        settings = Settings(
            self.url, self.timeout, self.max_retries, self.backoff, self.max_delay, self.rate
        )
        known: Service | None = vars(self).get("_service")
        if known is None or known.settings != settings:
            new = Service(settings)
            if known is not None:
                known.close()
                new.n_requests, new.n_retries = known.n_requests, known.n_retries
                new.n_failures = known.n_failures
            self._service = known = new
            self._kept: dict[bytes, Any] = {}
        return known

    def _count(self, name: str) -> int:
        service = vars(self).get("_service")
        return 0 if service is None else int(getattr(service, name))

    @property
    def n_requests_(self) -> int:
        """Number of requests that were sent, including repeated ones."""
        return self._count("n_requests")

    @property
    def n_retries_(self) -> int:
        """Number of requests that repeated a failed one."""
        return self._count("n_retries")

    @property
    def n_failures_(self) -> int:
        """Number of batches that finally got no answer."""
        return self._count("n_failures")

    # Asking ---------------------------------------------------------------------------------

    def _ask(self, X: Any) -> list[Any]:
        """Ask the service about the rows; return one answer for each batch."""
        self._check()
        service, headers = self._own_service(), self._own_headers()
        n = len(X)
        starts = range(0, n, self.batch_size)
        encode = table_as_json if self.encode is None else self.encode
        seed = self.random_state if isinstance(self.random_state, (int, np.integer)) else None
        sequence = np.random.SeedSequence(None if seed is None else int(seed))
        rngs = [np.random.default_rng(child) for child in sequence.spawn(len(starts))]
        stop = threading.Event()
        # Answers of an earlier call that failed elsewhere: they need not be asked for again.
        kept = self._kept

        def one(k: int) -> tuple[bytes, Any]:
            rows = np.arange(starts[k], min(n, starts[k] + self.batch_size))
            body = encode(take_rows(X, rows))
            body = body.encode() if isinstance(body, str) else bytes(body)
            key = hashlib.sha256(body).digest()
            if key in kept:
                return key, kept[key]
            try:
                if stop.is_set():
                    raise GivenUp("The request was not made, as another failed.")
                answer = self._read(service.post(body, headers, rngs[k], stop), len(rows), service)
            except BaseException:
                stop.set()  # what waits for its turn or for a retry gives up
                raise
            return key, answer

        if len(starts) <= 1:
            return [one(k)[1] for k in range(len(starts))]
        pool = ThreadPoolExecutor(min(self.n_connections, len(starts)))
        futures = [pool.submit(one, k) for k in range(len(starts))]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if not all(f.done() for f in futures):
                stop.set()
            # What is under way comes to its end.
            pool.shutdown(wait=True, cancel_futures=True)
        done = [f for f in futures if not f.cancelled() and f.exception() is None]
        if len(done) < len(futures):
            kept.update(f.result() for f in done)
            errors = [f.exception() for f in futures if not f.cancelled() and f.exception()]
            told = [e for e in errors if not isinstance(e, GivenUp)] or errors
            raise _with_count(told[0], len(done), len(futures))
        kept.clear()
        return [f.result()[1] for f in futures]

    def _read(self, body: bytes, n: int, service: Service) -> Any:
        """Decode and check the answer for a batch of n rows."""
        decode = array_of_json if self.decode is None else self.decode
        try:
            answer = np.asarray(decode(body))
        except Exception as error:
            raise RemoteModelError(
                f"The answer of {service.shown} cannot be read: {error}. It begins with "
                f"{body[:80]!r}. Give a function from bytes to predictions as decode=.",
                status=200,
            ) from error
        if answer.ndim == 0 or len(answer) != n:
            raise RemoteModelError(
                f"The service at {service.shown} must give one prediction for each of {n} rows; "
                f"got an answer of shape {answer.shape}.",
                status=200,
            )
        return answer


def _with_count(error: BaseException | None, n_done: int, n: int) -> BaseException:
    """Add to the error of a batch how many of the other batches were answered."""
    if not isinstance(error, RemoteModelError):
        assert error is not None
        return error
    told = (
        f"{error} Of {n} batches, {n_done} were answered and are kept; make the same call again to "
        "ask for the others only."
    )
    new = RemoteModelError(told, status=error.status)
    new.__cause__ = error.__cause__
    return new


class RemoteRegressor(RegressorMixin, RemoteModel):
    """Regressor that runs as an HTTP service: `predict` posts rows to a URL.

    Parameters
    ----------
    url : str
        URL to which rows are posted, with ``http://`` or ``https://``.
    headers : dict or callable, default=None
        Headers of each request, such as ``{"Authorization": "Bearer ..."}``. Their values are not
        shown, not saved, and not sent to other processes. A callable that returns the dict is, if
        it is a function of a module.
    encode : callable, default=None
        Function that turns a table of rows into the body of the request, bytes or str. None writes
        ``{"columns": [...], "rows": [[...], ...]}`` as JSON.
    decode : callable, default=None
        Function that turns the body of the answer into one prediction for each row. None reads a
        JSON list, or an object with the list under ``"predictions"``.
    content_type : str, default="application/json"
        Content type of requests and answers.
    batch_size : int, default=256
        Number of rows in a request.
    n_connections : int, default=4
        Number of requests that are sent at the same time, each in a thread.
    rate : float, default=None
        Largest number of requests in a second, including retries; None sets no limit. The limit
        holds for each process by itself.
    timeout : float, default=30
        Seconds that a request may take.
    max_retries : int, default=5
        How often a request is repeated after a failure that may pass: timeouts, connection errors,
        and the statuses 429, 502, 503 and 504. Any other status than 200 is an error at once.
    backoff : float, default=0.5
        Seconds before the first retry, which are doubled for each further retry. The delay is drawn
        between half of that and all of it; if the service asks for a longer one by
        ``Retry-After``, that is used.
    max_delay : float, default=60
        Longest delay in seconds. A service that asks for a longer one is taken to be down.
    random_state : int, default=None
        Seed of the delays.

    Attributes
    ----------
    n_requests_, n_retries_, n_failures_ : int
        Number of requests, of those that repeated a failed one, and of batches that finally got no
        answer.

    See Also
    --------
    RemoteClassifier : Classifier that runs as a service.

    Notes
    -----
    If a batch fails, the answers of the other batches are kept, and the same call, made again, asks
    for the missing ones only. Redirects are followed to the same host only. Proxies that are set in
    the environment are not used.

    Examples
    --------
    >>> from skfairtest import RemoteRegressor
    >>> model = RemoteRegressor(
    ...     "https://models.example/wages", headers={"Authorization": "Bearer 1234"}
    ... )
    >>> model
    RemoteRegressor(headers={'Authorization': '***'},
                    url='https://models.example/wages')
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Any = None,
        encode: Any = None,
        decode: Any = None,
        content_type: str = "application/json",
        batch_size: int = 256,
        n_connections: int = 4,
        rate: float | None = None,
        timeout: float = 30.0,
        max_retries: int = 5,
        backoff: float = 0.5,
        max_delay: float = 60.0,
        random_state: Any = None,
    ) -> None:
        self.url = url
        self.headers = headers
        self.encode = encode
        self.decode = decode
        self.content_type = content_type
        self.batch_size = batch_size
        self.n_connections = n_connections
        self.rate = rate
        self.timeout = timeout
        self.max_retries = max_retries
        self.backoff = backoff
        self.max_delay = max_delay
        self.random_state = random_state

    def predict(self, X: Any) -> Floats:
        """Ask the service for predictions.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predictions.

        Raises
        ------
        RemoteModelError
            If the service does not answer, or its answer is not a number for each row.
        """
        answers = self._ask(X)
        if not answers:
            return np.empty(0)
        try:
            return np.concatenate(answers).astype(np.float64)
        except (TypeError, ValueError) as error:
            raise RemoteModelError(
                "A service that is a regressor must give numbers; got "
                f"{answers[0][:3].tolist()!r}. A service that gives labels is a RemoteClassifier."
            ) from error


def _gives_probabilities(self: Any) -> bool:
    return bool(self.returns == "probabilities")


class RemoteClassifier(ClassifierMixin, RemoteModel):
    """Classifier that runs as an HTTP service: its predictions post rows to a URL.

    Parameters
    ----------
    url : str
        URL to which rows are posted, with ``http://`` or ``https://``.
    classes : array-like of shape (n_classes,)
        The labels, in the order of the probabilities.
    returns : {"probabilities", "labels"}, default="probabilities"
        What the service returns for a row: a probability for each class (for two classes the
        probability of the second is enough), or a label.
    headers, encode, decode, content_type, batch_size, n_connections, rate, timeout, max_retries, \
backoff, max_delay, random_state
        As for `RemoteRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_requests_, n_retries_, n_failures_ : int
        Number of requests, of those that repeated a failed one, and of batches that finally got no
        answer.

    See Also
    --------
    RemoteRegressor : Regressor that runs as a service.

    Examples
    --------
    >>> from skfairtest import RemoteClassifier
    >>> model = RemoteClassifier("https://models.example/hired", classes=["no", "yes"])
    >>> model.classes_
    array(['no', 'yes'], dtype='<U3')
    """

    def __init__(
        self,
        url: str,
        *,
        classes: Any = None,
        returns: str = "probabilities",
        headers: Any = None,
        encode: Any = None,
        decode: Any = None,
        content_type: str = "application/json",
        batch_size: int = 256,
        n_connections: int = 4,
        rate: float | None = None,
        timeout: float = 30.0,
        max_retries: int = 5,
        backoff: float = 0.5,
        max_delay: float = 60.0,
        random_state: Any = None,
    ) -> None:
        self.url = url
        self.classes = classes
        self.returns = returns
        self.headers = headers
        self.encode = encode
        self.decode = decode
        self.content_type = content_type
        self.batch_size = batch_size
        self.n_connections = n_connections
        self.rate = rate
        self.timeout = timeout
        self.max_retries = max_retries
        self.backoff = backoff
        self.max_delay = max_delay
        self.random_state = random_state

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        classes = np.asarray(self.classes)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) < len(classes):
            raise ValueError(
                "classes must be the labels, two or more different ones, in the order of the "
                f"probabilities; got {self.classes!r}."
            )
        return classes

    def _check(self) -> None:
        super()._check()
        if self.returns not in ("probabilities", "labels"):
            raise ValueError(f"returns must be 'probabilities' or 'labels'; got {self.returns!r}.")
        _ = self.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Ask the service for labels, or for probabilities and return the most probable labels.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels among `classes_`.

        Raises
        ------
        RemoteModelError
            If the service does not answer, or its answer is not as expected.
        """
        if self.returns == "probabilities":
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        answers = self._ask(X)
        labels = np.concatenate(answers) if answers else self.classes_[:0]
        known = set(self.classes_.tolist())
        foreign = [label for label in labels.tolist() if label not in known]
        if foreign:
            raise RemoteModelError(
                f"The service must give labels among classes={list(known)!r}; got {foreign[0]!r}."
            )
        return labels.astype(self.classes_.dtype)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Ask the service for the probabilities of the classes.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of `classes_`.

        Raises
        ------
        RemoteModelError
            If the service does not answer, or its answer is not as expected.
        """
        n_classes = len(self.classes_)
        answers = self._ask(X)
        if not answers:
            return np.empty((0, n_classes))
        answer = np.concatenate(answers)
        try:
            scores = answer.astype(np.float64).reshape(len(answer), -1)
        except (TypeError, ValueError) as error:
            raise RemoteModelError(
                f"The service must give probabilities; got {answer[:3].tolist()!r}. A service that "
                "gives labels needs returns='labels'."
            ) from error
        if n_classes == 2 and scores.shape[1] == 1:
            scores = np.column_stack([1 - scores[:, 0], scores[:, 0]])
        if scores.shape[1] != n_classes:
            raise RemoteModelError(
                f"The service must give {n_classes} probabilities for each row, one for each of "
                f"classes=; got {scores.shape[1]}."
            )
        return scores
