"""Whether whoever asks takes what there is to be had."""

from starlette.requests import Request

from .refusals import Refusal


def check_accepts(request: Request, kind: str) -> None:
    """Check that whoever asks takes what there is to be had.

    Raises:
        Refusal: it does not.
    """
    said = request.headers.getlist("accept")
    if not said:
        return
    family = kind.split("/")[0]
    for part in ",".join(said).split(","):
        name, *words = (word.strip().lower() for word in part.split(";"))
        if name in ("*/*", f"{family}/*", kind) and not any(
            word.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for word in words
        ):
            return
    raise Refusal(
        406,
        "accept",
        f"this address answers {kind}, and the request takes other kinds only",
        f"ask with Accept: {kind}, or without it",
    )
