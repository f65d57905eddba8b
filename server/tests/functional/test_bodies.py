"""Request bodies: whatever comes, the answer is a 4xx with a sentence, and nothing behind the edge is
called."""

from __future__ import annotations

import io
import json
from typing import Any

import falcon
import pytest

from blazar.api.body import read_object

from .canned import LEASE_ID, Canned
from .conftest import Send

GOOD = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00"}

BAD = {
    "not JSON": (b"{", "is not valid JSON"),
    "cut off": (b'{"name": "a', "is not valid JSON"),
    "two documents": (b"{} {}", "is not valid JSON"),
    "list": (b"[]", "must be a JSON object"),
    "null": (b"null", "must be a JSON object"),
    "string": (b'"lease"', "must be a JSON object"),
    "number": (b"1", "must be a JSON object"),
    "invalid UTF-8": (b'{"name": "\xff"}', "not valid UTF-8"),
    "UTF-16": ('{"name": "a"}'.encode("utf-16"), "not valid UTF-8"),
    "NUL byte": (b'{"name": "a\x00"}', "is not valid JSON"),
    "NUL character": (b'{"name": "a\\u0000"}', "NUL character"),
    "lone surrogate": (b'{"name": "\\ud800"}', "surrogate"),
    "lone surrogate in a key": (b'{"\\udfff": 1}', "surrogate"),
    "lone surrogate deep inside": (b'{"a": [{"b": ["\\udead"]}]}', "surrogate"),
    "duplicate key": (b'{"name": "a", "name": "b"}', "'name' is given more than once"),
    "duplicate key inside": (b'{"reservations": [{"min": 1, "min": 2}]}', "'min' is given more than once"),
    "NaN": (b'{"name": NaN}', "NaN is not a JSON number"),
    "Infinity": (b'{"name": -Infinity}', "not a JSON number"),
    "too large a number": (b'{"min": 1e999}', "number that is too large"),
    "a number of 5000 digits": (b'{"min": ' + b"9" * 5000 + b"}", "is not valid JSON"),
    "nested 65 deep": (b'{"a":' * 65 + b"1" + b"}" * 65, "nested deeper than 64"),
    "nested 2000 deep": (b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}", "nested deeper than 64"),
    "nested 19000 deep": (b"[" * 19_000, "nested deeper than 64"),
    "nested 100000 deep": (b"[" * 100_000, "more than 20000 values"),
    "a megabyte of lists": (b'{"name": [' + b"[]," * 300_000 + b"[]]}", "more than 20000 values"),
    "a megabyte of keys": (b'{"a":1' + b',"b":{}' * 100_000 + b"}", "more than 20000 values"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/leases"), ("PUT", f"/v1/leases/{LEASE_ID}")])
def test_bad_bodies_are_400(send: Send, service: Canned, method: str, path: str, case: str) -> None:
    body, sentence = BAD[case]
    answer = send(method, path, body=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json["error"] == 400
    assert sentence in answer.json["error_message"]
    assert not service.commands


@pytest.mark.parametrize(
    "content_type", [None, "application/json", "application/json; charset=utf-8", "APPLICATION/JSON"]
)
def test_json_is_accepted_with_and_without_saying_so(send: Send, content_type: str | None) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    assert send("POST", "/v1/leases", body=json.dumps(GOOD), headers=headers).status_code == 201


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "json", "application/xml; a=b"]
)
def test_other_content_types_are_400(send: Send, service: Canned, content_type: str) -> None:
    answer = send("POST", "/v1/leases", body=json.dumps(GOOD), headers={"Content-Type": content_type})
    shown = content_type.partition(";")[0]
    assert answer.status_code == 400
    assert answer.json == {"error": 400, "error_message": f"Content type '{shown}' isn't supported"}
    assert not service.commands


@pytest.mark.parametrize("accept", [None, "application/xml", "text/html;q=0", "*/*"])
def test_the_answer_is_json_whatever_the_client_would_accept(send: Send, accept: str | None) -> None:
    answer = send("GET", "/v1/leases", headers={"Accept": accept} if accept else {})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("body", [b"", b"  \n"])
def test_an_empty_body_is_an_empty_object(send: Send, body: bytes) -> None:
    answer = send("POST", "/v1/leases", body=body)
    assert answer.json["error_message"] == "Missing parameter end_date, name, start_date"
    assert send("PUT", f"/v1/leases/{LEASE_ID}", body=body).status_code == 200


def _environ(**more: Any) -> dict[str, Any]:
    return {"extras": {"CONTENT_LENGTH": "", **more}}


def test_no_content_length_is_an_empty_object(send: Send) -> None:
    answer = send("POST", "/v1/leases", **_environ())
    assert answer.json["error_message"] == "Missing parameter end_date, name, start_date"


def test_a_chunked_body_is_read(send: Send, service: Canned) -> None:
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(json.dumps(GOOD).encode())}
    assert send("POST", "/v1/leases", **_environ(**chunked)).status_code == 201
    assert service.commands[0].name == "a"


def test_a_chunked_body_above_the_limit_is_413(send: Send, service: Canned) -> None:
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(b" " * (1024 * 1024 + 1))}
    assert send("POST", "/v1/leases", **_environ(**chunked)).status_code == 413
    assert not service.commands


@pytest.mark.parametrize("length", [1024 * 1024 + 1, 10_000_000, 10**30])
def test_a_large_body_is_413_without_being_read(send: Send, service: Canned, length: int) -> None:
    class Unread(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            raise AssertionError("the body was read")

    answer = send("POST", "/v1/leases", **_environ(**{"CONTENT_LENGTH": str(length), "wsgi.input": Unread()}))
    assert answer.status_code == 413
    assert answer.json == {"error": 413, "error_message": "The request body is larger than 1048576 bytes."}
    assert not service.commands


@pytest.mark.parametrize("length", ["-1", "1.5", "x", "٣", " "])
def test_a_content_length_that_is_no_number_is_400(length: str) -> None:
    with pytest.raises(falcon.HTTPBadRequest, match="400") as refused:
        read_object({"CONTENT_LENGTH": length, "wsgi.input": io.BytesIO(b"{}")})
    assert refused.value.description == "The Content-Length header must be a number."


def test_a_body_shorter_than_promised_is_400(send: Send) -> None:
    short = {"CONTENT_LENGTH": "100", "wsgi.input": io.BytesIO(b"{}")}
    answer = send("POST", "/v1/leases", **_environ(**short))
    assert answer.status_code == 400
    assert answer.json["error_message"] == "The request body is shorter than its Content-Length."


@pytest.mark.parametrize("failure", [ValueError("bad chunk"), OSError("gone"), ConnectionResetError()])
def test_a_body_that_the_server_cannot_read_is_400(send: Send, service: Canned, failure: Exception) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            raise failure

    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": Broken()}
    answer = send("POST", "/v1/leases", **_environ(**chunked))
    assert answer.status_code == 400
    assert answer.json["error_message"] == "The request body is broken off, or its chunks are malformed."
    assert not service.commands


def test_a_body_with_two_lengths_is_400() -> None:
    body = json.dumps(GOOD).encode()
    both = {"CONTENT_LENGTH": str(len(body)), "HTTP_TRANSFER_ENCODING": "chunked"}
    with pytest.raises(falcon.HTTPBadRequest, match="400") as refused:
        read_object({**both, "wsgi.input": io.BytesIO(body)})
    assert refused.value.description == "Content-Length and Transfer-Encoding exclude each other."


def test_a_large_but_reasonable_body_is_still_read(send: Send) -> None:
    assert send("POST", "/v1/leases", json={**GOOD, "comment": ["x, y"] * 4_000}).status_code == 201


def test_the_largest_body_is_still_read(send: Send, service: Canned) -> None:
    body = json.dumps({**GOOD, "comment": ""})
    body = body[:-2] + "x" * (1024 * 1024 - len(body)) + body[-2:]
    assert len(body) == 1024 * 1024
    assert send("POST", "/v1/leases", body=body).status_code == 201


def test_bodies_of_get_and_delete_are_ignored(send: Send) -> None:
    assert send("GET", "/v1/leases", body=b"[", headers={"Content-Type": "text/plain"}).status_code == 200
    assert send("DELETE", f"/v1/leases/{LEASE_ID}", body=b"{").status_code == 204
