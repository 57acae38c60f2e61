"""The MLX90640 through the library that makes its degrees, where that is installed."""


def opened(driver):
    """Return the camera, two frames a second; ValueError where the library is not here."""
    try:
        import adafruit_mlx90640
        import board
        import busio
    except ImportError:
        raise ValueError(
            "the library of the MLX90640 is not installed; its chip sends no degrees but what "
            "they are reckoned from. Install adafruit-circuitpython-mlx90640 beside heatveil"
        ) from None
    try:
        wires = busio.I2C(board.SCL, board.SDA, frequency=800000)
        camera = adafruit_mlx90640.MLX90640(wires)
        camera.refresh_rate = adafruit_mlx90640.RefreshRate.REFRESH_4_HZ  # each shows half
        return camera
    except (RuntimeError, ValueError):
        pass
    raise OSError("the MLX90640 does not answer; look at its wires and that the bus is on")
