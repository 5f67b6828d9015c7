"""Environment variables are read by type and refused loudly, by name."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    monkeypatch.delenv("X", raising=False)


def read(monkeypatch, value, reader, *args, **kwargs):
    monkeypatch.setenv("X", value)
    return reader("X", *args, **kwargs)


def test_text_without_a_default_is_required(monkeypatch):
    with pytest.raises(ImproperlyConfigured, match="X is required"):
        env.text("X")
    with pytest.raises(ImproperlyConfigured, match="X is required"):
        read(monkeypatch, "", env.text)
    assert env.text("X", "default") == "default"


@pytest.mark.parametrize(("value", "meaning"), [("1", True), ("YES", True), ("off", False), ("0", False), ("", True)])
def test_switches(monkeypatch, value, meaning):
    assert read(monkeypatch, value, env.boolean, True) is meaning


@pytest.mark.parametrize(
    ("reader", "args", "value"),
    [
        (env.boolean, [True], "maybe"),
        (env.integer, [1], "1.5"),
        (env.integer, [1], "0x10"),
        (env.choice, ["text", ["text", "json"]], "xml"),
        (env.rate, ["1/min"], "0/min"),
        (env.rate, ["1/min"], "10/week"),
        (env.rate, ["1/min"], "many"),
        (env.broker, [], "amqp://localhost"),
        (env.broker, [], "redis://"),
        (env.broker, [], "redis://host:port/0"),
        (env.broker, [], "redis://host/queue"),
        (env.broker, [], "file://relative/path"),
        (env.broker, [], "/var/broker"),
        (env.database, [], "mysql://h/db"),
        (env.database, [], "postgres://"),
        (env.database, [], "postgres://host"),
        (env.database, [], "postgres://host:99999/db"),
        (env.database, [], "postgres://host:abc/db"),
        (env.database, [], "postgres://host/db/other"),
        (env.database, [], "postgres://host/db%00"),
        (env.database, [], "postgres://u:p#ss@host/db"),
        (env.database, [], "postgres://host/db?options=-c%20search_path=x"),
        (env.database, [], "postgres://host/db?sslmode"),
        (env.database, [], "postgres://[::1/db"),
        (env.database, [], "sqlite://host/path"),
        (env.database, [], "sqlite:///"),
        (env.database, [], "db.sqlite3"),
        (env.database, [], "file:///etc/passwd"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(monkeypatch, reader, args, value):
    with pytest.raises(ImproperlyConfigured, match=r"\bX\b"):
        read(monkeypatch, value, reader, *args)


def test_integers_within_bounds(monkeypatch):
    assert read(monkeypatch, " 7 ", env.integer, 1, at_least=7, at_most=7) == 7
    for bounds in ({"at_least": 8}, {"at_most": 6}):
        with pytest.raises(ImproperlyConfigured, match="allowed"):
            env.integer("X", 1, **bounds)


def test_a_password_is_never_in_the_message(monkeypatch):
    for reader, value in [
        (env.database, "postgres://u:hunter2@host/db?nonsense=1"),
        (env.database, "mysql://u:hunter2@host/db"),
        (env.broker, "redis://u:hunter2@host/queue"),
        (env.database, "postgres://u:hunter2@host:99999/db"),
    ]:
        with pytest.raises(ImproperlyConfigured) as caught:
            read(monkeypatch, value, reader)
        assert "hunter2" not in str(caught.value)


def test_postgresql_parts_are_decoded(monkeypatch):
    monkeypatch.delenv("AFORO_STATEMENT_WITHIN_S", raising=False)
    found = read(monkeypatch, "postgresql://us%40er:p%2Fw%23@db.example:6432/my%20db?sslmode=require", env.database)
    options = found.pop("OPTIONS")
    assert options["sslmode"] == "require"
    # Nothing waits for ever: to connect (s), for a statement, for a peer that is gone (s, ms), for an answer (s).
    assert (options["connect_timeout"], options["options"]) == (5, "-c statement_timeout=20s")
    assert options["keepalives_idle"] + options["keepalives_count"] * options["keepalives_interval"] == 25
    assert options["tcp_user_timeout"] == 15_000
    assert options["answer_within_s"] == 22
    monkeypatch.setenv("AFORO_STATEMENT_WITHIN_S", "0")
    unlimited = read(monkeypatch, "postgres://h/db?connect_timeout=3", env.database)["OPTIONS"]
    assert not {"options", "answer_within_s"} & set(unlimited)
    assert unlimited["connect_timeout"] == "3"
    assert found == {
        "ENGINE": "config.postgresql",
        "NAME": "my db",
        "USER": "us@er",
        "PASSWORD": "p/w#",
        "HOST": "db.example",
        "PORT": "6432",
    }


def test_sqlite_paths(monkeypatch):
    assert read(monkeypatch, "sqlite:////data/a%20b.sqlite3", env.database)["NAME"] == "/data/a b.sqlite3"
    assert read(monkeypatch, "sqlite:///:memory:", env.database)["NAME"] == ":memory:"
    options = read(monkeypatch, "sqlite:///x.sqlite3", env.database)["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert options["timeout"] == 20
    assert "journal_mode=WAL" in options["init_command"]


@pytest.mark.parametrize("url", ["redis://localhost:6379/0", "rediss://u:p@h/3", "redis://h", "file:///data/broker"])
def test_brokers(monkeypatch, url):
    assert read(monkeypatch, url, env.broker) == url


def test_a_cache_has_the_address_of_a_broker(monkeypatch):
    assert env.cache("X") == ""
    assert read(monkeypatch, "", env.cache) == ""
    assert read(monkeypatch, "rediss://u:p@h/3", env.cache) == "rediss://u:p@h/3"
    assert read(monkeypatch, "redis+socket:///run/redis.sock", env.cache) == "unix:///run/redis.sock"
    for wrong in ("file:///data/cache", "memcached://h", "redis://h/queue"):
        with pytest.raises(ImproperlyConfigured, match=r"\bX\b"):
            read(monkeypatch, wrong, env.cache)


def test_words(monkeypatch):
    assert read(monkeypatch, " a, b ,,c ", env.words) == ["a", "b", "c"]
