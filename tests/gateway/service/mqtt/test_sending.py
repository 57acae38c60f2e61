"""Who waits for a message to be taken hears so once, however fast the broker answers."""

from gateway.service.mqtt.connection import Sending


def test_an_answer_that_is_quicker_than_we_are_is_not_lost() -> None:
    """The packet id is known after the packet is on its way: a letter would wait for ever."""
    heard: list[int] = []
    sending = Sending()
    sending.ended(7, taken=True)
    sending.began(7, lambda: heard.append(7))
    sending.began(8, lambda: heard.append(8))
    sending.ended(8, taken=True)

    assert heard == [7, 8]


def test_a_packet_id_that_comes_back_is_another_message() -> None:
    """There are 65,535 of them."""
    heard: list[str] = []
    sending = Sending()
    for name in ("first", "second"):
        sending.began(1, lambda name=name: heard.append(name))  # type: ignore[misc]
        sending.ended(1, taken=True)

    assert heard == ["first", "second"]


def test_what_the_broker_does_not_take_is_not_said_to_be_taken() -> None:
    """The outbox would forget a letter that nobody has."""
    heard: list[int] = []
    sending = Sending()
    sending.began(1, lambda: heard.append(1))
    sending.ended(1, taken=False)
    sending.ended(2, taken=False)  # before we said that it was on its way
    sending.began(2, lambda: heard.append(2))

    assert heard == []
