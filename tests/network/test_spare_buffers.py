from kafkapy.network.spare_buffers import MAX_SPARES, SpareBuffers


def test_a_spare_buffer_serves_whoever_it_has_room_for() -> None:
    spares = SpareBuffers()
    assert spares.take(1) is None
    buffer = bytearray(100)
    spares.give(buffer)
    assert spares.take(101) is None
    taken = spares.take(99)
    assert taken is not None
    assert (taken.obj is buffer, len(taken)) == (True, 99)
    assert spares.take(1) is None, "it has one user"


def test_the_largest_are_kept() -> None:
    spares = SpareBuffers()
    for size in (5, 1, 9, 3, 7, 8, 2):
        spares.give(bytearray(size))
    assert MAX_SPARES == 4
    for size in (9, 8, 7, 5):
        assert spares.take(size) is not None
        assert spares.take(size) is None
