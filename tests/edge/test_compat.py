"""The few primitives that this package brings itself agree with the standard library's."""

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from edge.compat import hmac_sha256, same_bytes


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_hmac_is_the_standard_library_s(key: bytes, data: bytes) -> None:
    """Also for keys longer than a block, which are hashed first."""
    assert hmac_sha256(key, data) == hmac.new(key, data, hashlib.sha256).digest()


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_same_bytes_is_equality(a: bytes, b: bytes) -> None:
    """It decides whether a frame is forged."""
    assert same_bytes(a, b) == (a == b)
