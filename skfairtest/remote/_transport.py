"""Send requests over HTTP, with kept connections, a rate limit and retries."""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

import numpy as np

from skfairtest.exceptions import RemoteModelError
from skfairtest.remote._headers import Headers

#: Answers that may be others a moment later: too many requests, and a service behind a gateway that
#: does not answer, is not there, or takes too long.
PASSING = frozenset({429, 502, 503, 504})
#: Redirects that keep the request as it is. They are followed on the same host only, so many times.
REDIRECTS = frozenset({307, 308})
MOST_REDIRECTS = 3
#: Letters of a body that an error shows, and bytes that are read at a time.
SHOWN = 300
PIECE = 2**16


class Settings(NamedTuple):
    """Settings for requests to a service."""

    url: str
    timeout: float
    max_retries: int
    backoff: float
    max_delay: float
    rate: float | None


class Passing(Exception):
    """Failure that may pass; `wait` is how long the service asked to wait."""

    def __init__(self, told: str, wait: float | None = None, status: int | None = None) -> None:
        super().__init__(told)
        self.wait = wait
        self.status = status


class GivenUp(RemoteModelError):
    """Raised for a request that was given up because another one failed."""


class Service:
    """Service at a URL that several threads post to.

    Attributes
    ----------
    n_requests, n_retries, n_failures : int
        Requests that were sent, those among them that repeat one that failed, and bodies that got
        no answer in the end.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.n_requests = self.n_retries = self.n_failures = 0
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._next = 0.0
        self._place = check_url(settings.url)

    def post(
        self,
        body: bytes,
        headers: Headers,
        rng: np.random.Generator,
        stop: threading.Event,
    ) -> bytes:
        """Post a request and return the body of the answer.

        Parameters
        ----------
        body : bytes
            What is sent.
        headers : Headers
            Of the request.
        rng : Generator
            Chooses where in the second half of each delay the next attempt is made.
        stop : Event
            Ends the waiting: another body failed.

        Raises
        ------
        RemoteModelError
            At once if the answer is an error that does not pass; after the last retry else.
        """
        settings = self.settings
        for attempt in range(settings.max_retries + 1):
            try:
                return self._once(body, headers, is_retry=attempt > 0, stop=stop)
            except RemoteModelError:
                self._failed()
                raise
            except Passing as failure:
                delay = min(settings.max_delay, settings.backoff * 2.0**attempt)
                delay *= 0.5 + 0.5 * rng.random()
                asked = failure.wait
                if attempt == settings.max_retries or (asked or 0.0) > settings.max_delay:
                    self._failed()
                    often = f" after {attempt + 1} attempts" if attempt else ""
                    too_long = ""
                    if (asked or 0.0) > settings.max_delay:
                        too_long = (
                            f" It asks to wait {asked:.0f} s, more than max_delay="
                            f"{settings.max_delay:g}."
                        )
                    raise RemoteModelError(
                        f"The service at {self.shown} gave no answer{often}: "
                        f"{headers.hidden_in(str(failure))}.{too_long}",
                        status=failure.status,
                    ) from failure
                if asked is not None:
                    self._pause(asked)  # all threads: what one was told holds for the others
                    delay = max(delay, asked)
                stop.wait(delay)
                if stop.is_set():
                    raise GivenUp("The request was given up, as another failed.") from None
        raise AssertionError("an attempt is made in any case")

    @property
    def shown(self) -> str:
        """URL without parts that may be secret."""
        return f"{self._place.scheme}://{self._place.netloc}{self._place.path}"

    def _failed(self) -> None:
        with self._lock:
            self.n_failures += 1

    def _pause(self, seconds: float) -> None:
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def _wait_for_turn(self, stop: threading.Event) -> None:
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            if self.settings.rate is not None:
                self._next = turn + 1 / self.settings.rate
        if turn > now:
            stop.wait(turn - now)
            if stop.is_set():
                raise GivenUp("The request was given up, as another failed.")

    # One request ----------------------------------------------------------------------------

    def _once(
        self, body: bytes, headers: Headers, *, is_retry: bool, stop: threading.Event
    ) -> bytes:
        place = self._place
        for _ in range(MOST_REDIRECTS + 1):
            self._wait_for_turn(stop)
            with self._lock:
                self.n_requests += 1
                self.n_retries += is_retry
            status, reply, answer = self._send(place, body, headers)
            if status in REDIRECTS:
                place = self._redirected(place, reply.get("Location", ""))
                continue
            if status == 200:
                return answer
            told = answer[:SHOWN].decode("utf-8", "replace").strip()
            if status in PASSING:
                raise Passing(f"status {status}: {told}", _retry_after(reply), status)
            raise RemoteModelError(
                f"The service at {self.shown} answered with status {status}: "
                f"{headers.hidden_in(told)!r}. Expected 200.",
                status=status,
            )
        raise RemoteModelError(f"The service at {self.shown} redirects in a circle.")

    def _send(
        self, place: SplitResult, body: bytes, headers: Headers
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self._connection()
        deadline = time.monotonic() + self.settings.timeout
        target = (place.path or "/") + (f"?{place.query}" if place.query else "")
        try:
            connection.request("POST", target, body=body, headers=dict(headers))
            socket = connection.sock
            response = connection.getresponse()
            pieces = []
            # In pieces: a limit of a socket is for each read, and this one is for all.
            while piece := response.read1(PIECE):
                pieces.append(piece)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"no whole answer within {self.settings.timeout:g} s")
                socket.settimeout(left)
            if response.length:
                raise http.client.IncompleteRead(b"".join(pieces), response.length)
            response.close()  # which `read1` leaves open, so that the next request would be refused
            socket.settimeout(self.settings.timeout)
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise RemoteModelError(
                f"The certificate of {self.shown} cannot be trusted: {error.verify_message}."
            ) from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Passing(f"{type(error).__name__}: {error}") from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        with self._lock:
            self._idle.append(connection)
        return response.status, response.headers, b"".join(pieces)

    def _connection(self) -> http.client.HTTPConnection:
        """Return an idle connection; it reconnects by itself if the server has closed it."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        make: Callable[..., http.client.HTTPConnection] = (
            http.client.HTTPSConnection
            if self._place.scheme == "https"
            else http.client.HTTPConnection
        )
        return make(self._place.hostname or "", self._place.port, timeout=self.settings.timeout)

    def _redirected(self, place: SplitResult, location: str) -> SplitResult:
        new = urlsplit(urljoin(place.geturl(), location))
        if (new.scheme, new.netloc) != (place.scheme, place.netloc):
            raise RemoteModelError(
                f"The service at {self.shown} redirects to another host, "
                f"{new.scheme}://{new.netloc}, which is not followed: headers may hold secrets. "
                "Give the final address as url."
            )
        return new

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()


def check_url(url: object) -> SplitResult:
    """Check an HTTP URL, which must not contain credentials; return its parts."""
    parts = urlsplit(url) if isinstance(url, str) else None
    try:
        fits = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port if parts is not None else None
    except ValueError:
        fits = False
    if parts is None or not fits:
        raise ValueError(
            f"url must be a whole address that begins with http:// or https://; got {url!r}."
        )
    if parts.username or parts.password:
        raise ValueError(
            "url must hold no user and no password, which would be shown in messages. Pass "
            "headers={'Authorization': ...}."
        )
    return parts


def _retry_after(reply: http.client.HTTPMessage) -> float | None:
    """Return the seconds to wait by a Retry-After header: a number, or a date."""
    told = reply.get("Retry-After")
    if told is None:
        return None
    try:
        return max(0.0, float(told))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
