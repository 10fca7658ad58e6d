"""What SECURITY.md says, and the test that holds it."""

from __future__ import annotations

import pytest

from resources import REPOSITORY

UNTRUSTED = "transforms/checks/test_refuse_untrusted.py"
CHECKED = "cache/test_checked.py"
STORE = "cache/test_store.py"
EXPORTED = "executable/export/test_exported_kernels.py"
APART = "executable/worker_process/test_kept_apart.py"
LIMITS = "executable/worker_process/test_kernel_limits.py"

HELD = {
    "must belong to you or to root": f"{CHECKED}::test_what_belongs_to_another_user_is_refused",
    "and no other user may write to them": (
        f"{EXPORTED}::test_what_cannot_be_trusted_or_read_is_refused"
    ),
    "sticky folders such as `/tmp` excepted": (
        f"{CHECKED}::test_sticky_folders_are_passed_and_never_the_place_itself"
    ),
    "no path is resolved twice": f"{EXPORTED}::test_a_link_that_is_swapped_after_the_check",
    "A link is followed where it is yours or root's": f"{CHECKED}::test_own_links_are_followed",
    "in a folder that others may not write to": (
        f"{EXPORTED}::test_links_where_others_may_write_are_refused"
    ),
    "pages are never writable and executable at once": (
        "runtime/test_object_loader.py::test_code_can_no_longer_be_written"
    ),
    "objects with code that runs at loading are refused, and not exported": (
        f"{EXPORTED}::test_code_that_runs_at_loading_is_not_exported"
    ),
    "loads the very bytes that it checked": (
        "executable/export/test_numpy_loader.py::test_what_was_checked_is_what_is_loaded"
    ),
    "`tune=` and a search with `measure=`, which run it, ask for `trusted=True`": (
        "compiler/test_tune.py::test_what_nobody_vouches_for_is_not_run_while_it_is_compiled"
    ),
    "`linalg-ext explain --measure` runs it in a worker process": (
        "cli/test_explain_command.py::test_what_nobody_vouches_for_is_measured_apart"
    ),
    "every folder down to the entry is opened below the one before and checked": (
        f"{STORE}::test_folders_that_others_can_write_to_are_refused"
    ),
    "All that is made is for the user alone, whatever the umask": (
        f"{STORE}::test_what_is_made_is_believed_whatever_the_umask"
    ),
    "A file that is damaged": f"{STORE}::test_damaged_entries_are_absent_and_can_be_put_again",
    "of another version, or": f"{STORE}::test_another_version_is_absent",
    "that others could have written is ignored": (
        f"{STORE}::test_a_planted_entry_is_absent_and_removed"
    ),
    "are read where others could not have written them": (
        "compiler/tuning/test_store.py::test_what_others_could_have_written_is_ignored_with_a_warning"
    ),
    "refuses, naming each and its place": f"{UNTRUSTED}::test_dangers_are_named_with_their_place",
    "ops of the `llvm` dialect that are not arithmetic": (
        f"{UNTRUSTED}::test_what_is_allowed_exists_and_says_nothing_of_memory"
    ),
    "LLVM's intrinsics that are arithmetic": (
        f"{UNTRUSTED}::test_arithmetic_of_the_llvm_dialect_is_allowed"
    ),
    "the C library's mathematics of numbers": (
        f"{UNTRUSTED}::test_mathematics_and_own_variables_are_allowed"
    ),
    "those of the libraries that you gave": (
        f"{UNTRUSTED}::test_functions_of_given_libraries_are_allowed"
    ),
    "memrefs that another object file defines": (
        f"{UNTRUSTED}::test_dangers_are_named_with_their_place"
    ),
    "puts code into a section": f"{UNTRUSTED}::test_sections_of_variables_are_refused",
    "likewise; the next call starts another process": (
        f"{LIMITS}::test_a_kernel_that_dies_and_is_called_again"
    ),
    "`Limits(seconds=60)`": f"{LIMITS}::test_a_loop_without_end",
    "`Limits(memory=4 << 30)`": f"{LIMITS}::test_more_memory_than_is_allowed",
    "`Limits(stack=8 << 20)`": f"{LIMITS}::test_more_stack_than_is_allowed",
    "copied back to the arguments that it may write": (
        "executable/worker_process/test_isolated.py::test_arguments_are_written_where_they_lie"
    ),
    "which keeps it under keys and names of its own": f"{APART}::test_what_was_compiled_is_found",
    "gives it to worker processes alone": f"{APART}::test_no_other_process_runs_it",
    "The answer of a worker process is read as data": (
        f"{APART}::test_what_a_process_apart_says_is_no_path"
    ),
}
"""Words of the page, and the test that fails where they are not so."""


@pytest.mark.parametrize("words", HELD)
def test_what_it_says_is_held_by_a_test(words: str) -> None:
    text = " ".join((REPOSITORY / "SECURITY.md").read_text(encoding="utf-8").split())
    assert words in text
    file, _, name = HELD[words].partition("::")
    assert f"def {name}(" in (REPOSITORY / "tests" / file).read_text(encoding="utf-8")
