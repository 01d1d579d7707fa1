"""Downloads from a server of our own that breaks off, lies and forgets."""

from __future__ import annotations

import hashlib
import http.server
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from wassermix.core.errors import InputError
from wassermix.data import cifar, idx, tiny_imagenet
from wassermix.data.download import Remote, Search, fetch_all

CONTENT = np.random.default_rng(0).bytes(300_000)


@dataclass
class Server:
    """What the server does, and what it was asked."""

    url: str = ""
    content: bytes = CONTENT
    status: int = 200
    breaks_after: list[int] = field(default_factory=list)  # bytes sent in each of the first answers
    ranges: bool = True
    asked: list[str | None] = field(default_factory=list)
    length: str | None = None  # said instead of the true one


@pytest.fixture
def server():
    settings = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            wanted = self.headers.get("Range")
            settings.asked.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and settings.ranges else 0
            if settings.status != 200 or start >= len(settings.content):
                self.send_error(settings.status if settings.status != 200 else 416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(settings.content) - 1}/{len(settings.content)}"
                )
            self.send_header("Content-Length", settings.length or str(len(settings.content) - start))
            self.end_headers()
            length = settings.breaks_after.pop(0) if settings.breaks_after else len(settings.content)
            self.wfile.write(settings.content[start : start + length])

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        settings.url = f"http://127.0.0.1:{running.server_port}/file.bin"
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield settings
        running.shutdown()
        thread.join()


def get(server, folder, *, algorithm="sha256", digest=None, urls=None, progress=None):
    right = hashlib.new(algorithm, CONTENT).hexdigest()
    remote = Remote("file.bin", urls or (server.url,), algorithm, digest or right)
    fetch_all("set", [remote], folder, searched=[folder], allowed=True, progress=progress)


def files(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_file_arrives_whole_and_is_not_fetched_twice(server, tmp_path, algorithm):
    steps = []
    for _ in range(2):
        get(server, tmp_path, algorithm=algorithm, progress=lambda done, total: steps.append((done, total)))
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert files(tmp_path) == ["file.bin"]
    assert server.asked == [None]
    assert steps[-1] == (len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("shared", [True, False])
def test_downloads_go_into_the_users_cache_and_nowhere_else(server, tmp_path, monkeypatch, shared):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("WASSERMIX_DATA", str(tmp_path / "shared"))
    if not shared:
        monkeypatch.delenv("WASSERMIX_DATA")
    remote = Remote("file.bin", (server.url,), "sha256", hashlib.sha256(CONTENT).hexdigest())
    assert Search().fetch("set", [remote], "set") == tmp_path / "cache/wassermix/set"
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_a_transfer_that_breaks_off_is_resumed_where_it_stopped(server, tmp_path):
    server.breaks_after = [100_000, 50_000]
    get(server, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-", "bytes=150000-"]


def test_what_a_killed_process_left_is_continued(server, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(CONTENT[:123_456])
    get(server, tmp_path)
    assert server.asked == ["bytes=123456-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_complete_part_needs_only_its_check(server, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(CONTENT)
    get(server, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("leftover", [b"x" * 1000, b"x" * 400_000])
def test_a_wrong_part_is_thrown_away_and_fetched_anew(server, tmp_path, leftover):
    (tmp_path / ".file.bin.part").write_bytes(leftover)
    get(server, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_server_that_cannot_resume_is_asked_for_everything(server, tmp_path):
    server.ranges = False
    (tmp_path / ".file.bin.part").write_bytes(CONTENT[:1000])
    get(server, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_wrong_digest_is_refused_and_leaves_nothing(server, tmp_path):
    with pytest.raises(InputError, match=r"its sha256 is .*, expected 00"):
        get(server, tmp_path, digest="00" * 32)
    assert files(tmp_path) == []


def test_a_server_that_always_breaks_off_is_given_up_and_the_part_is_kept(server, tmp_path):
    server.breaks_after = [1000] * 10
    with pytest.raises(InputError, match="broke off after 3000 of 300000 bytes"):
        get(server, tmp_path)
    assert (tmp_path / ".file.bin.part").read_bytes() == CONTENT[:3000]


def test_what_is_not_there_is_told_with_files_and_places(server, tmp_path):
    server.status = 404
    with pytest.raises(InputError) as caught:
        get(server, tmp_path)
    message = str(caught.value)
    assert "answered 404" in message
    assert "file.bin" in message
    assert str(tmp_path) in message
    assert server.asked == [None]


def test_the_second_address_is_tried_when_the_first_fails(server, tmp_path):
    get(server, tmp_path, urls=("http://127.0.0.1:9/none", server.url))
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_no_network_is_told_with_files_and_places(tmp_path):
    with pytest.raises(InputError, match=r"could not be downloaded.*Fetch file.bin from .* put them into"):
        get(None, tmp_path, urls=("http://127.0.0.1:9/none",))


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot fetch"):
        get(server, tmp_path / "file" / "below")


def test_many_at_once_fetch_it_once(server, tmp_path):
    threads = [threading.Thread(target=get, args=(server, tmp_path)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.asked == [None]
    assert files(tmp_path) == ["file.bin"]


def test_a_length_that_is_no_number_is_not_needed(server, tmp_path):
    server.length = "abc"
    get(server, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(("limit", "value"), [("LARGEST", 200_000), ("LONGEST", -1.0)])
def test_a_file_too_large_or_too_slow_is_given_up(server, tmp_path, monkeypatch, limit, value):
    monkeypatch.setattr(f"wassermix.data.download.{limit}", value)
    with pytest.raises(InputError, match=r"larger than|took longer"):
        get(server, tmp_path)
    assert len(server.asked) == 1
    assert not (tmp_path / "file.bin").exists()


def test_every_address_that_data_is_fetched_from_is_https():
    remotes = [tiny_imagenet.ARCHIVE, cifar._TEN.remote, cifar._HUNDRED.remote]
    urls = [*idx.MNIST_MIRRORS, *idx.FASHION_MIRRORS, *(url for remote in remotes for url in remote.urls)]
    assert all(url.startswith("https://") for url in urls)
