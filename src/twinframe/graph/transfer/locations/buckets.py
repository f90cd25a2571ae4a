"""Object stores as job locations, through fsspec: S3, Google Cloud Storage, Azure blobs.

Each library finds its credentials by itself, such as in the environment.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast
from urllib.parse import SplitResult, unquote, urlsplit

from twinframe.errors import InvalidArgument, LocationFailed, TwinframeError, UrlNotAllowed
from twinframe.errors.masking import mask_secrets
from twinframe.graph.transfer.locations.base import JobLocation, OpenSource, parse_url, show_url

_AZURE: Final = ".blob.core.windows.net"
_IDENTITY: Final = (
    "ETag",
    "etag",
    "generation",
    "last_modified",
    "LastModified",
    "created",
    "size",
)
_EXTRAS: Final = {"s3": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure"}


class BucketLocation(JobLocation):
    """Some prefixes of object stores, such as `s3://bucket/folder`."""

    def __init__(self, buckets: Sequence[str]) -> None:
        self._buckets = [bucket.rstrip("/") for bucket in buckets]

    def takes(self, url: SplitResult) -> bool:
        """Whether it has a scheme of object stores, or a prefix that is a web address."""
        text = url.geturl()
        return url.scheme in _EXTRAS or any(text.startswith(f"{x}/") for x in self._buckets)

    def check(self, url: str) -> None:
        """Raise an error unless the URL is below one of the prefixes and names an object."""
        parts = parse_url(url)
        names = unquote(parts.path).split("/")
        if parts.query or not names[-1] or {".", ".."} & {*names}:
            raise InvalidArgument("The URI failed validation: it must name an object, plainly.")
        if not any(url.startswith(f"{bucket}/") for bucket in self._buckets):
            raise UrlNotAllowed(
                f"{show_url(url)!a} is in none of the places that jobs may use (Jobs__Buckets)."
            )

    @contextmanager
    def open_source(self, url: str) -> Iterator[OpenSource]:
        """The object, read in blocks."""
        self.check(url)
        ask = partial(_ask, url, "read")
        files, path = ask(lambda: _find(url))
        found = ask(lambda: files.info(path))
        identity = " ".join(f"{name}={found[name]}" for name in _IDENTITY if name in found)
        stream = ask(lambda: files.open(path, "rb"))
        try:
            yield OpenSource(_Object(stream, ask), identity)
        finally:
            stream.close()

    def write(self, url: str, pieces: Iterable[bytes]) -> None:
        """Write the object as a whole: object stores do not show half-written ones."""
        self.check(url)

        def put() -> None:
            files, path = _find(url)
            with files.open(path, "wb") as stream:
                for piece in pieces:
                    stream.write(piece)

        _ask(url, "written", put)


class _Object:
    """An object being read."""

    def __init__(self, stream: Any, ask: Callable[[Callable[[], Any]], Any]) -> None:
        self._stream = stream
        self._ask = ask

    def read(self, size: int, /) -> bytes:
        """Return at most this many bytes; `LocationFailed` on an error."""
        return cast("bytes", self._ask(lambda: self._stream.read(size)))


def _find(url: str) -> tuple[Any, str]:
    """Return the fsspec file system and the object's path in it."""
    parts = urlsplit(url)
    scheme, options = parts.scheme, {}
    if parts.netloc.endswith(_AZURE):
        scheme, options = "az", {"account_name": parts.netloc.removesuffix(_AZURE)}
        url = f"az://{parts.path.lstrip('/')}"
    try:
        fsspec = importlib.import_module("fsspec")
        files = fsspec.filesystem(scheme, **options)
    except ImportError as error:
        extra = _EXTRAS.get(scheme, scheme)
        raise LocationFailed(
            f"{scheme} needs libraries that are not installed: pip install 'twinframe[{extra}]'."
        ) from error
    return files, str(files._strip_protocol(unquote(url)))


def _ask(url: str, verb: str, call: Callable[[], Any]) -> Any:
    """Call an object store's library; raise `LocationFailed` for any error: each library has errors
    of its own, and none is a reason to retry the job for ever.
    """
    try:
        return call()
    except TwinframeError:
        raise
    except Exception as error:
        reason = mask_secrets(f"{type(error).__name__}: {error}")
        raise LocationFailed(f"{show_url(url)} cannot be {verb}: {reason}.") from error
