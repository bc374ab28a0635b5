"""Credentials in CSV: what comes of the cells, and what is said of a file that cannot be."""

from __future__ import annotations

import io

import pytest

from identity.answers import ClientType, Rules
from identity.credentials import BasicCredentials, Credentials, ScramCredentials, X509Credentials
from identity.credentials_file import read_credentials
from identity.errors import InvalidError
from identity.passwords import is_password

SECRET = "s3cret-pw"


def read(*lines: str) -> list[Credentials]:
    """What stands in these lines."""
    return read_credentials(io.StringIO("\n".join(lines), newline=""))


def test_with_the_columns_that_users_of_tbmq_know() -> None:
    first, second = read(
        "Name,Client type,Client ID,Username,Password,Sub auth rule patterns,Pub auth rule patterns,Description",
        f"Sensor,DEVICE,sensor-01,user-01,{SECRET},sensors/1/data;sensors/all/.*,sensors/1/cmd,a sensor",
        "Manager,APPLICATION,manager-01,,,,alerts/.*,",
    )
    assert isinstance(first, BasicCredentials)
    assert is_password(SECRET.encode(), first.password_hash or "")
    assert (first.client_id, first.username) == ("sensor-01", "user-01")
    assert first.rules == Rules(("sensors/1/cmd",), ("sensors/1/data", "sensors/all/.*"))
    assert second == BasicCredentials(
        name="Manager",
        client_type=ClientType.APPLICATION,
        client_id="manager-01",
        rules=Rules(("alerts/.*",), ()),
    )


def test_each_kind() -> None:
    basic, exact, pattern, scram = read(
        "\ufeffkind,NAME,client_id,username,password,common-name,common name is pattern",
        f'basic,"a, b",c,,"{SECRET}""x",,',
        "x509,b,,,,device,",
        "x509,c,,,,dev.*,TRUE",
        f"scram,d,,u,{SECRET}",
        "",
    )
    assert isinstance(basic, BasicCredentials)
    assert basic.name == "a, b"
    assert is_password(f'{SECRET}"x'.encode(), basic.password_hash or "")
    assert basic.rules == Rules()
    assert exact == X509Credentials(name="b", common_name="device")
    assert pattern == X509Credentials(name="c", common_name="dev.*", is_pattern=True)
    assert isinstance(scram, ScramCredentials)
    assert sorted(scram.verifiers) == ["SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "the first line must name the columns"),
        (["client_id,password", f"a,{SECRET}"], "the first line must name the columns"),
        ([f"a,b,{SECRET}"], "the first line's cell 1 names no column"),
        ([f"name,{SECRET}"], "the first line's cell 2 names no column"),
        (["name,Name"], "each once"),
        (["name,client_id,password", f"a,c,{SECRET},x"], "line 2: 4 cells, but 3 columns"),
        (["name,client_id", "a,c", "b,d", "a,e"], "line 4: the name stands in line 2 already"),
        (["name,client_id,password", f",c,{SECRET}"], "line 2: the name of the credentials is empty"),
        (["name,password", f"a,{SECRET}"], "line 2: the credentials 'a' need a client id"),
        (["name,client_id,client type", f"a,c,{SECRET}"], "line 2: the client type is none that there is"),
        (["name,client_id,kind", f"a,c,{SECRET}"], "line 2: the kind is none"),
        (["name,kind,common name", "a,x509,"], "line 2: the common name is empty"),
        (["name,kind,common name,common name is pattern", "a,x509,(,yes"], "line 2: the pattern"),
        (["name,kind,common name,common name is pattern", f"a,x509,b,{SECRET}"], "write true or false"),
        (["name,kind,username", "a,scram,u"], "line 2: the password is empty"),
        (["name,client_id,pub auth rule patterns", "a,c,("], "line 2: the pattern"),
        (["name,client_id", '"a"b,c'], "line 2: this is not CSV"),
    ],
)
def test_a_file_that_cannot_be(lines: list[str], said: str) -> None:
    with pytest.raises(InvalidError, match=said) as caught:
        read(*lines)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_utf_8() -> None:
    lines = io.TextIOWrapper(io.BytesIO(b"name,client_id\na,\xff\n"), "utf-8", newline="")
    with pytest.raises(InvalidError, match="not UTF-8"):
        read_credentials(lines)


def test_cells_of_several_lines() -> None:
    with pytest.raises(InvalidError, match="line 4: the name"):
        read("name,client_id,description", 'a,c,"two\nlines"', "a,d,")
