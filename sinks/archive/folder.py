"""The files of an archive, on any file system that Spark reaches; on this machine's own they are also synchronised.

Calls go through the driver's JVM, one at a time: they are a few for each batch.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession


class TakenError(Exception):
    """There is a file of that name already."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, by its path below the folder."""

    path: str
    size: int
    modified_ms: int


class Folder:
    """One folder with all that is below it; paths are relative to it, with `/`."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        """`place`: a path or URI; made when it is missing."""
        session: Any = spark  # its bridge is the only way to Spark's file systems
        self._jvm = session._jvm
        configuration = session._jsc.hadoopConfiguration()
        given = self._jvm.org.apache.hadoop.fs.Path(place)
        self._files = given.getFileSystem(configuration)
        self._root = self._files.makeQualified(given)
        self._context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._root.toUri(), configuration
        )
        self._files.mkdirs(self._root)
        # As Spark takes paths: in plain text, nothing in them encoded.
        self._text = str(self._root.toString()).rstrip("/")
        self._url = str(self._root.toUri().toString()).rstrip("/")
        scheme = self._root.toUri().getScheme()
        self._local = Path(self._root.toUri().getPath()) if scheme == "file" else None

    def list(self, path: str = "") -> Iterator[FoundFile]:
        """All files below a path, in no order; none where there is no such path."""
        place = self._path(path)
        try:
            found = self._files.listFiles(place, True)
            while found.hasNext():
                status = found.next()
                relative = str(status.getPath().toString())[len(self._text) + 1 :]
                yield FoundFile(relative, status.getLen(), status.getModificationTime())
        except Py4JJavaError as error:
            if not _is(error, "FileNotFoundException"):
                raise

    def read(self, path: str) -> str | None:
        """A file's text; None where there is none."""
        try:
            stream = self._files.open(self._path(path))
        except Py4JJavaError as error:
            if _is(error, "FileNotFoundException"):
                return None
            raise
        try:
            # Java reads all of it in one call; through this bridge each byte would be one.
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def create(self, path: str, text: str) -> None:
        """Make a file as a whole: nobody sees a part of it, and of two who try, one does.

        Raises:
            TakenError: There is one of that name.
        """
        folder, _, name = path.rpartition("/")
        passing = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        if self._local is not None:
            _create_here(self._local / path, self._local / passing, text)
            return
        stream = self._files.create(self._path(passing), True)
        stream.write(bytearray(text.encode()))
        stream.close()
        none = self._jvm.org.apache.hadoop.fs.Options.Rename.NONE
        options = self._jvm.java.lang.reflect.Array.newInstance(none.getClass(), 1)
        options[0] = none
        try:
            self._context.rename(self._path(passing), self._path(path), options)
        except Py4JJavaError as error:
            self.delete(passing)
            if _is(error, "FileAlreadyExistsException"):
                raise TakenError(path) from None
            raise

    def move(self, path: str, to: str) -> None:
        """Give a file another path; nobody has that one."""
        target = self._path(to)
        self._files.mkdirs(target.getParent())
        if self._local is not None:
            # Before it counts: what a commit names must outlive a crash of the machine as the commit does.
            _synchronise(self._local / path)
        if not self._files.rename(self._path(path), target):
            raise OSError(f"{path} could not be moved to {to}")

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it, if it is there."""
        self._files.delete(self._path(path), True)

    def absolute(self, path: str) -> str:
        """A path below the folder as Spark's readers and writers take it."""
        return f"{self._text}/{path}"

    def url(self, path: str) -> str:
        """The same as a URL, encoded where need be."""
        return f"{self._url}/{quote(path, safe='/=')}"

    def _path(self, path: str) -> Any:
        # By parent and child: a colon or blank in a name is no part of a URI then.
        return self._jvm.org.apache.hadoop.fs.Path(self._root, path) if path else self._root


def _create_here(target: Path, passing: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with passing.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        # Not a renaming, which would replace what somebody else has made meanwhile.
        target.hardlink_to(passing)
    except FileExistsError:
        raise TakenError(str(target)) from None
    finally:
        passing.unlink()
    _synchronise(target.parent)


def _synchronise(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is(error: Py4JJavaError, name: str) -> bool:
    return str(error.java_exception.getClass().getSimpleName()) == name
