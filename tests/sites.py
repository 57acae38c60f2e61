"""Files of small sites: a deployment on a line of 10 m, and the sides of a room file."""


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


def sides(*names: str) -> str:
    """Return these sides of a room file, all alike: 1 W/(m2 K), and 20 degrees outside."""
    return "\n".join(f"[{name}]\nu_w_per_m2k = 1.0\noutside_c = 20.0\n" for name in names)
