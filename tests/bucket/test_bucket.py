"""Files in a bucket: signed, sent in parts, read back over a broken line, refused in plain words."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from noesis.bucket.bucket import Bucket
from noesis.bucket.http import BucketHttp
from noesis.bucket.place import Place, place_of
from noesis.bucket.signing import Keys
from noesis.errors import BucketFailed, Cancelled, InvalidInput, SettingsError
from noesis.settings import load
from tests.fakes.s3 import BUCKET, KEY_ID, REGION, SECRET, FakeS3, serving
from tests.support import NOW

PART = 64 << 10
CONTENT = random.Random(7).randbytes(3 * PART + 1234)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
REFUSALS = [
    (403, "InvalidAccessKeyId", "does not know this access key"),
    (403, "SignatureDoesNotMatch", "does not know this access key"),
    (403, "AccessDenied", "may not do this"),
    (403, "RequestTimeTooSkewed", "clock is wrong"),
    (404, "NoSuchBucket", "There is no bucket test-bucket"),
    (301, "PermanentRedirect", "another region"),
    (507, "", "no more room"),
    (500, "XMinioStorageFull", "no more room"),
    (503, "SlowDown", "overloaded"),
]


@pytest.fixture
def server() -> Iterator[FakeS3]:
    with serving() as fake:
        yield fake


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(CONTENT)
    return path


def place(server: FakeS3, **values: str) -> Place:
    fields = {"bucket": BUCKET, "prefix": "one/two", "endpoint": server.url, "region": REGION}
    keys = Keys(values.pop("key_id", KEY_ID), values.pop("secret", SECRET))
    return Place(**{**fields, **values}, keys=keys)


Opened = Callable[..., Bucket]


@pytest.fixture
def bucket() -> Iterator[Opened]:
    """Opens the server's bucket, and closes what was opened."""
    with ExitStack() as stack:

        def opened(server: FakeS3, *, timeout_s: float = 5, tries: int = 3, **values: str) -> Bucket:
            pauses = (0.0,) * (tries - 1)
            http = BucketHttp(place(server, **values), lambda: NOW, timeout_s=timeout_s, pauses_s=pauses)
            stack.callback(http.close)
            return Bucket(http, PART)

        yield opened


def put(target: Bucket, file: Path) -> str:
    return target.put(file, "one/two/a.tar.gz", lambda _: None, lambda: False)


def test_a_file_is_sent_in_parts_and_comes_back_as_it_was(bucket: Opened, server: FakeS3, file: Path) -> None:
    target, told = bucket(server), list[int]()
    assert target.put(file, "one/two/a.tar.gz", told.append, lambda: False) == SHA256
    assert server.objects["one/two/a.tar.gz"] == CONTENT
    assert told == [PART, PART, PART, 1234]
    assert b"".join(target.pieces("one/two/a.tar.gz")) == CONTENT
    assert server.uploads == {}
    assert server.refused == []


@pytest.mark.parametrize("size", [0, 1, PART, PART + 1])
def test_a_file_of_any_size_arrives(bucket: Opened, size: int, server: FakeS3, tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(CONTENT[:size])
    put(bucket(server), path)
    assert server.objects["one/two/a.tar.gz"] == CONTENT[:size]


def test_a_list_of_many_pages_is_whole(bucket: Opened, server: FakeS3) -> None:
    server.page = 2
    target = bucket(server)
    for number in range(5):
        target.put_small(f"one/two/{number}", b"x" * number)
    target.put_small("one/two/deeper/6", b"x")
    assert [(each.key, each.size) for each in target.list("one/two/")] == [
        (f"one/two/{number}", number) for number in range(5)
    ]
    target.delete("one/two/3")
    target.delete("one/two/3")
    assert len(target.list("one/two/")) == 4


def test_what_passes_is_tried_again(bucket: Opened, server: FakeS3, file: Path) -> None:
    server.faults.busy = 2
    assert put(bucket(server), file) == SHA256
    assert server.objects["one/two/a.tar.gz"] == CONTENT


def test_reading_goes_on_where_the_line_broke(bucket: Opened, server: FakeS3, file: Path) -> None:
    target = bucket(server)
    put(target, file)
    server.faults.cut, server.seen[:] = 3, []
    assert b"".join(target.pieces("one/two/a.tar.gz")) == CONTENT
    assert len(server.seen) == 4


@pytest.mark.parametrize(("status", "code", "words"), REFUSALS)
def test_a_refusal_is_told_in_plain_words_without_the_secret(
    bucket: Opened, status: int, code: str, words: str, server: FakeS3, file: Path
) -> None:
    server.faults.status, server.faults.code = status, code
    with pytest.raises(BucketFailed, match=words) as caught:
        put(bucket(server, tries=1), file)
    assert SECRET not in caught.value.message
    assert server.objects == {}


def test_a_wrong_secret_is_found_out_and_not_tried_again(bucket: Opened, server: FakeS3, file: Path) -> None:
    with pytest.raises(BucketFailed, match="NOESIS_BACKUP_S3_SECRET"):
        put(bucket(server, secret="another"), file)
    assert server.refused == ["SignatureDoesNotMatch"]
    with pytest.raises(BucketFailed, match="NOESIS_BACKUP_S3_KEY_ID"):
        put(bucket(server, key_id="AKIAOTHER"), file)
    with pytest.raises(BucketFailed, match="another region"):
        put(bucket(server, region="us-east-1"), file)
    with pytest.raises(BucketFailed, match="There is no bucket another-bucket"):
        put(bucket(server, bucket="another-bucket"), file)


def test_a_server_that_is_not_there_or_says_nothing_is_given_up(
    bucket: Opened, server: FakeS3, file: Path
) -> None:
    server.faults.stall_s = 30
    with pytest.raises(BucketFailed, match="too slow") as caught:
        put(bucket(server, timeout_s=0.2, tries=2), file)
    assert caught.value.retryable
    server.faults.stall_s = 0
    with pytest.raises(BucketFailed, match="no connection"):
        put(bucket(server, endpoint="http://127.0.0.1:9", tries=2), file)


def test_an_upload_that_fails_leaves_no_parts(bucket: Opened, server: FakeS3, file: Path) -> None:
    server.faults.late_error = True
    with pytest.raises(BucketFailed):
        put(bucket(server, tries=1), file)
    assert (server.objects, server.uploads) == ({}, {})
    server.faults.late_error = False
    stop = iter([False, True])
    with pytest.raises(Cancelled):
        bucket(server).put(file, "one/two/a.tar.gz", lambda _: None, lambda: next(stop))
    assert (server.objects, server.uploads) == ({}, {})


def test_what_a_kill_left_of_the_same_file_is_cleared(bucket: Opened, server: FakeS3, file: Path) -> None:
    server.uploads["old"] = ("one/two/a.tar.gz", {1: b"x"})
    server.uploads["another"] = ("one/two/a.tar.gz.age", {1: b"x"})
    put(bucket(server), file)
    assert list(server.uploads) == ["another"]


def test_a_key_does_not_show_its_secret() -> None:
    assert SECRET not in repr(Keys(KEY_ID, SECRET))


SET = {
    "NOESIS_BACKUP_S3_BUCKET": BUCKET,
    "NOESIS_BACKUP_S3_KEY_ID": KEY_ID,
    "NOESIS_BACKUP_S3_SECRET": SECRET,
}


def test_the_settings_name_a_place() -> None:
    assert place_of(load({})) is None
    found = place_of(load({**SET, "NOESIS_BACKUP_S3_REGION": "eu-central-1"}))
    assert found is not None
    assert found.endpoint == "https://s3.eu-central-1.amazonaws.com"
    assert found.address == f"s3://{BUCKET}/noesis"
    assert found.name_in(f"s3://{BUCKET}/noesis/a.tar.gz") == "a.tar.gz"
    for elsewhere in (f"s3://{BUCKET}/a.tar.gz", "s3://other/noesis/a.tar.gz", f"s3://{BUCKET}/noesis/a/b"):
        with pytest.raises(InvalidInput):
            found.name_in(elsewhere)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BUCKET", "s3://name"),
        ("BUCKET", "Upper"),
        ("PREFIX", "a b"),
        ("PREFIX", "a//b"),
        ("REGION", "x/y"),
        ("KEY_ID", ""),
        ("SECRET", ""),
        ("ENDPOINT", "ftp://x"),
        ("ENDPOINT", "https://user:pass@x"),
        ("ENDPOINT", "https://x/path"),
        ("ENDPOINT", "http://10.0.0.2:9000"),
        ("ENDPOINT", "https://x:port"),
    ],
)
def test_a_setting_that_names_no_bucket_stops_the_start(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"NOESIS_BACKUP_S3_{name}") as caught:
        place_of(load({**SET, f"NOESIS_BACKUP_S3_{name}": value}))
    assert "pass" not in caught.value.message


def test_over_plain_http_only_what_is_encrypted_travels() -> None:
    asked = {**SET, "NOESIS_BACKUP_S3_ENDPOINT": "http://10.0.0.2:9000", "NOESIS_BACKUP_KEY_FILE": "/k"}
    found = place_of(load(asked))
    assert found is not None
    assert found.endpoint == "http://10.0.0.2:9000"
