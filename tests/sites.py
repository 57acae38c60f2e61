"""The deployment file of a small site for tests: a line of 10 m, and a broker in the clear."""


def small(
    name: str,
    port: int,
    page: int | None = None,
    *,
    cells: int = 40,
    sensors: int = 6,
    adc_step: str | None = None,
    readings: int = 3,
    gather_s: float = 5,
    every_s: float = 60,
) -> str:
    """Return its text: TOML.

    Args:
        port: of its broker, on this machine. page: of its page, None where nobody looks.
        adc_step: kelvin of a count of its converters, a ratio; None for one finer than any grain.
    """
    step = "" if adc_step is None else f'adc_step = "{adc_step}"\n'
    shown = "" if page is None else f"[page]\nport = {page}\n"
    return (
        f'[site]\nname = "{name}"\n'
        f"[room]\ncells = {cells}\nlength_m = 10.0\n"
        "[heat]\nspread_m2 = 1.0\n"
        f"[sensors]\ncount = {sensors}\n{step}"
        f'[privacy]\nepsilon = "8/1"\ndelta = "1/100000"\nreadings = {readings}\n'
        f"[rounds]\ngather_s = {gather_s}\nevery_s = {every_s}\n"
        f"[mqtt]\nport = {port}\ninsecure = true\n{shown}"
    )
