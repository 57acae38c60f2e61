"""Secrets that others may read are told, each with what it opens."""

from pathlib import Path

import pytest

from gateway.devices.enrol.check import find_exposed
from gateway.settings import config
from gateway.settings.deployment import Deployment


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """Return the sample deployment, with three secrets for their owner alone."""
    path = tmp_path / "gateway.toml"
    text = (
        config.sample()
        .replace("# token_file", "token_file")
        .replace("# password_file", "password_file")
    )
    path.write_text(text)
    (tmp_path / "broker").mkdir()
    for name in ("devices.json", "broker/gateway.password", "page.token", "db.password"):
        (tmp_path / name).write_text("secret")
        (tmp_path / name).chmod(0o600)
    return config.load(path)


def test_what_is_for_its_owner_alone_is_not_told(deployment: Deployment) -> None:
    """Nor what is not there at all."""
    assert list(find_exposed(deployment, {})) == []
    deployment.site.devices.unlink()
    assert list(find_exposed(deployment, {})) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o444])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("devices.json", "forge"),
        ("broker/gateway.password", "as the gateway"),
        ("page.token", "read the page"),
        ("db.password", "what was spent"),
    ],
)
def test_what_others_may_read_is_told_with_what_it_opens(
    deployment: Deployment, tmp_path: Path, name: str, words: str, mode: int
) -> None:
    """And how to mend it."""
    (tmp_path / name).chmod(mode)
    (sentence,) = find_exposed(deployment, {})
    assert words in sentence
    assert f"(mode {mode:04o})" in sentence
    assert sentence.endswith(f"chmod 600 {tmp_path / name}")


def test_what_a_service_manager_keeps_is_its_own_business(
    deployment: Deployment, tmp_path: Path
) -> None:
    """Credentials of systemd have a mode of their own."""
    (tmp_path / "page.token").chmod(0o444)
    assert list(find_exposed(deployment, {"CREDENTIALS_DIRECTORY": str(tmp_path)})) == []
