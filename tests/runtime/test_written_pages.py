"""Writes to watched memory are seen, whoever makes them; writes beside it are not."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable

import numpy as np
import pytest

from linalg_ext.runtime import written_pages
from linalg_ext.runtime.written_pages import SMALLEST, Array, WrittenPages
from resources import skip_machine

PAGE = mmap.PAGESIZE


@pytest.fixture
def memory() -> Array:
    """Some megabyte, and a part of it that begins and ends within pages."""
    return np.zeros(1 << 20, np.uint8)


def watch(array: Array) -> WrittenPages:
    pages = WrittenPages.of(array)
    if pages is None:
        skip_machine("a system that notes what is written")
    pages.begin()
    return pages


WRITERS: dict[str, Callable[[Array], object]] = {
    "the first byte": lambda array: array.__setitem__(0, 1),
    "the last byte": lambda array: array.__setitem__(-1, 1),
    "a byte of each page": lambda array: array.__setitem__(slice(None, None, PAGE), 1),
    "the kernel": lambda array: _read_from_a_file(array[5000:5009]),
    "another thread": lambda array: _in_a_thread(lambda: array.__setitem__(9999, 1)),
    "the same byte": lambda array: array.__setitem__(PAGE + 5, array[PAGE + 5]),
}


def _read_from_a_file(array: Array) -> None:
    with open(__file__, "rb", buffering=0) as file:
        file.readinto(array.data)


def _in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("first", [0, 1, 100])
def test_every_write_is_seen(memory: Array, first: int) -> None:
    array = memory[first : first + SMALLEST + 77]
    pages = watch(array)
    for name, write in WRITERS.items():
        assert not pages.is_written(), name
        assert array.sum() >= 0  # a read is not a write
        assert not pages.is_written(), name
        write(array)
        assert pages.is_written(), name
        assert pages.is_written(), name  # until it is begun anew
        pages.begin()


def test_neighbours_and_other_watches_do_not_count(memory: Array) -> None:
    middle = memory[3 * PAGE + 1 : 3 * PAGE + 1 + SMALLEST]
    after = memory[3 * PAGE + 1 + SMALLEST : 3 * PAGE + 1 + 2 * SMALLEST]
    pages, others = watch(middle), watch(after)
    memory[: 3 * PAGE + 1] = 1
    after[:] = 2
    assert not pages.is_written()
    assert others.is_written()
    del others
    memory[3 * PAGE + 1 + SMALLEST] = 3
    assert not pages.is_written()


def test_the_order_of_axes_makes_no_difference(memory: Array) -> None:
    array = memory.view(np.float32).reshape(512, 512).T
    pages = watch(array)
    array[7, 500] = 3
    assert pages.is_written()


def test_small_arrays_and_arrays_with_gaps_are_not_watched(memory: Array) -> None:
    assert WrittenPages.of(memory[: SMALLEST - 1]) is None
    assert WrittenPages.of(memory[::2]) is None


def test_a_watch_that_never_began_tells_nothing(memory: Array) -> None:
    pages = WrittenPages.of(memory)
    assert pages is None or pages.is_written()


def test_a_forked_process_asks_for_itself(memory: Array) -> None:
    pages = watch(memory)
    child = os.fork()
    if child == 0:  # no test framework in here
        own = WrittenPages.of(memory)
        answers = [pages.is_written(), own is not None]
        if own is not None:
            own.begin()
            answers.append(not own.is_written())
            memory[12345] = 1
            answers.append(own.is_written())
        del own
        os._exit(0 if all(answers) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not pages.is_written()  # it wrote to memory of its own
    memory[12345] = 1
    assert pages.is_written()


def test_a_system_that_cannot_is_no_error(memory: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_pages, "_USERFAULTFD", {})
    written_pages._files.cache_clear()
    assert WrittenPages.of(memory) is None
    written_pages._files.cache_clear()
