"""The files of one device: its half of the keys, its budget, and what it leaves behind."""

from pathlib import Path
from typing import Any

from edge.slots import COUNT

from ..brokers.rights import session_of
from ..deployment import Deployment
from ..enrolment import budgets, enrol, single
from ..enrolment.enrol import Secret, Secrets
from ..enrolment.single import Newcomer
from ..kit.placing import asked_by
from .virtual import STATE

UNFINISHED = ".unfinished"  # what a kill in the middle of a change leaves


def unfinished(board: Path) -> Path:
    """Return where a board's file is while its device is being changed."""
    return board.with_name(f"{board.name}{UNFINISHED}")


class Halves:
    """Where the devices' half of the keys is kept: of virtual ones together, of a board alone."""

    def __init__(self, deployment: Deployment, secrets: Path, board: Path) -> None:
        self._deployment, self.path, self.board = deployment, secrets, board
        self.secrets: Secrets | None = None
        if secrets.exists():
            self.secrets = enrol.load_secrets(secrets, deployment.site.name)

    def virtual(self, name: str) -> Secret | None:
        """Return what a virtual device knows of itself; None for a board."""
        held = self.secrets.devices if self.secrets is not None else ()
        return next((one for one in held if one.identity.name == name), None)

    def new_virtual(self, made: Newcomer, site_key: bytes, limits: Any) -> None:
        """Give a virtual device its budget and its keys; what it had under an old key goes.

        Raises:
            OperatorFault: a fleet runs, or the files cannot be written.
        """
        name, site = made.secret.identity.name, self._deployment.site.name
        state = self.path.with_name(STATE)
        state.mkdir(0o700, exist_ok=True)
        with budgets.kept(state) as place:
            self._forget(name)
            alone = Secrets(site, site_key, (made.secret,))
            budgets.provision(enrol.Enrolment(alone, {name: made.root}), limits, place)
        self._keep(name, made.secret, site_key)

    def new_password(self, name: str, link_key: bytes) -> None:
        """Give a virtual device another password."""
        held = self.virtual(name)
        assert held is not None  # asked before  # noqa: S101
        assert self.secrets is not None  # noqa: S101
        self._keep(name, held._replace(link_key=link_key), self.secrets.site_key)

    def drop(self, name: str) -> bool:
        """Forget a device's keys and budget, if they are here; return whether they were."""
        if self.virtual(name) is None or self.secrets is None:
            return False
        left = tuple(one for one in self.secrets.devices if one.identity.name != name)
        self.secrets = self.secrets._replace(devices=left)
        enrol.save_secrets(self.secrets, self.path)
        self._forget(name)
        return True

    def new_board(self, made: Newcomer, limits: Any) -> None:
        """Write the one file of a board; it has its name once all else is done: `finish`.

        Raises:
            OperatorFault: there is a finished one, or it cannot be written.
        """
        single.refuse_old(self.board)
        link = self._link(made.secret.identity.name, made.password)
        single.save_board(self.begun, made, limits, link, asked_by(self._deployment))

    def new_link(self, name: str, password: str) -> None:
        """Write how a board comes to the broker from now on; as `new_board`."""
        single.refuse_old(self.board)
        link = self._link(name, password)
        single.save_link(self.begun, self._deployment.site.name, name, link)

    @property
    def begun(self) -> Path:
        """Where a board's file is while its device is being changed."""
        return unfinished(self.board)

    def finish(self) -> None:
        """Give a board's file its name, if there is one."""
        if self.begun.exists():
            self.begun.replace(self.board)

    def abandon(self) -> None:
        """Remove a board's file that is worth nothing."""
        self.begun.unlink(missing_ok=True)

    def _link(self, name: str, password: str) -> dict[str, Any]:
        session = session_of(self._deployment.site.name, name, password)
        return single.link_of(self._deployment.mqtt, name, password, session)

    def _keep(self, name: str, secret: Secret, site_key: bytes) -> None:
        held = () if self.secrets is None else self.secrets.devices
        rows = tuple(secret if one.identity.name == name else one for one in held)
        if secret not in rows:
            rows += (secret,)
        self.secrets = Secrets(self._deployment.site.name, site_key, rows)
        enrol.save_secrets(self.secrets, self.path)

    def _forget(self, name: str) -> None:
        """Remove slots and spool of a key that is no more; never those of another name."""
        state = self.path.with_name(STATE)
        for slot in range(COUNT):
            (state / f"{name}.{slot}").unlink(missing_ok=True)
        for spool in state.glob(f"{name}.????????.spool"):
            spool.unlink()
