"""Running checks one after another: none stops another, by failing or by taking for ever."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from junto.cli.doctor.findings import Case, Check, Finding, broken
from junto.domain.errors import JuntoError
from junto.telemetry.logs import Log

_log = Log.of("doctor")

_MEND = "Mend that; --log-level debug may tell more."
_AGAIN = "Run it again with --log-level debug, and report what it prints."


@dataclass(slots=True)
class Rounds:
    """One visit: the checks in their order, and those that were given up."""

    checks: Sequence[Check]
    begins: Callable[[Check], None]
    _lost: list[threading.Thread] = field(default_factory=list, init=False)

    def of(self, case: Case) -> Iterator[tuple[Check, Finding]]:
        """Yield each finding as soon as it is known."""
        for check in self.checks:
            self.begins(check)
            for finding in self._found(check, case):
                yield check, finding
                self.begins(check)

    @property
    def hangs(self) -> bool:
        """Tell whether a check that was given up still goes on."""
        return any(thread.is_alive() for thread in self._lost)

    def _found(self, check: Check, case: Case) -> Iterator[Finding]:
        # In a thread: a disk that is gone keeps whoever looks at it, and nothing frees them.
        found: queue.SimpleQueue[Finding | None] = queue.SimpleQueue()
        thread = threading.Thread(target=_look, args=(check, case, found.put), daemon=True)
        thread.start()
        while True:
            try:
                finding = found.get(timeout=check.seconds)
            except queue.Empty:
                self._lost.append(thread)
                detail = f"not known: looking took longer than {check.seconds:.0f} seconds"
                yield broken(check.name, detail, _AGAIN)
                return
            if finding is None:
                return
            yield finding


def _look(check: Check, case: Case, tell: Callable[[Finding | None], None]) -> None:
    try:
        for finding in check.look(case):
            tell(finding)
    except JuntoError as error:
        _log.debug("check failed", check=check.name, reason=error.message)
        tell(broken(check.name, error.message, _MEND))
    except Exception as error:  # noqa: BLE001 - a check that fails must not stop the others
        _log.crash("check crashed", error, check=check.name)
        tell(broken(check.name, f"the check itself failed ({type(error).__name__})", _AGAIN))
    finally:
        tell(None)
