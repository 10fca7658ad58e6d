"""Kernels in the disk cache."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from linalg_ext.cache.store import Entry
from linalg_ext.errors import LinalgExtError
from linalg_ext.executable.code_variants import STAGES, SharedWork, work_data, work_of
from linalg_ext.executable.explanation import CompileTimes
from linalg_ext.executable.kernel import CompilerOptions, Kernel, Recipe, data_of, kernel_of
from linalg_ext.executable.kernel_data import (
    explanation_data,
    explanation_of,
    signature_of,
    stages_data,
    stages_of,
)
from linalg_ext.runtime import kernel_cache
from linalg_ext.target import current, override
from linalg_ext.utils.logs import logger

_WORK = "work.mlirbc"
_MODULE = "module.mlirbc"


def is_keeping() -> bool:
    """Return whether new kernels are kept."""
    return kernel_cache.key_of() is not None


def key_of_module(
    kind: str, content: str | bytes, entry: str | None, options: CompilerOptions
) -> str | None:
    """Return the key of a module's kernel; None if none is kept, or a part has no fingerprint.

    `content` is the module, of some `kind`.
    """
    stamps = [kernel_cache.file_stamp(library) for library in options.libraries]
    if None in stamps:
        return None  # the system's loader chooses the file
    try:
        dtypes = options.result_dtypes
        keys = None if dtypes is None else [_dtype_key(dtype) for dtype in dtypes]
        checked, level = bool(options.checked), options.opt_level
        return kernel_cache.key_of(kind, content, entry, checked, level, stamps, keys)
    except TypeError:
        return None  # a dtype is wrong, which the compiler reports


def _dtype_key(dtype: Any) -> tuple[str, str] | None:
    if dtype is None:
        return None
    resolved = np.dtype(dtype)
    return resolved.str, resolved.name


def find(key: str | None) -> Kernel | None:
    """Return the kernel that is kept under a key; None if absent.

    An entry that cannot be used (a library is gone, the system gives no executable memory) counts
    as absent: the kernel is compiled again, and the compiler reports the fault.
    """
    log = logger("cache")
    entry = kernel_cache.read(key)
    if entry is None:
        if key is not None:
            log.debug("the cache has no entry %s", key)
        return None
    try:
        kernel = _kernel_of(entry)
    except (LinalgExtError, OSError, KeyError, TypeError, ValueError) as error:
        log.info("the entry %s cannot be used: %s", key, repr(error))
        return None
    log.info("found %s under %s", kernel.signature, key)
    return kernel


def keep(key: str | None, kernel: Kernel) -> None:
    """Put a kernel on disk, unless `key` is None."""
    if key is None:
        return
    record, files = data_of(kernel), {}
    record["times"] = asdict(kernel.compile_times)
    stages = kernel.made_steps
    if kernel.own.ready is not None:
        files[kernel_cache.CODE] = kernel.code.object_code()
    record["stages"], files[STAGES] = stages_data(stages)
    if kernel.shared is not None:
        record["work"], files[_WORK] = work_data(kernel.shared.work)
        record["before"] = explanation_data(kernel.shared.explanation)
    if (recipe := kernel.recipe) is not None:
        options = recipe.options._asdict()
        del options["result_dtypes"]  # the signature has them
        record["recipe"] = {"entry": recipe.entry, "trusted": recipe.trusted, "options": options}
        files[_MODULE] = recipe.module
    kernel_cache.write(key, str(kernel.signature), record, files)
    logger("cache").debug("kept %s under %s", kernel.signature, key)


def _kernel_of(entry: Entry) -> Kernel:
    record, target, work = entry.record, current(), entry.record.get("work")
    shared = None
    if work is not None:
        before = explanation_of(record["before"], target)
        shared = SharedWork(work_of(work, entry.files[_WORK]), before, entry.key)
    return kernel_of(
        record,
        kernel_cache.load(entry) if kernel_cache.CODE in entry.files else None,
        stages_of(record["stages"], entry.files[STAGES]),
        target,
        shared,
        times=CompileTimes.of_data(record["times"]),
        is_kept=True,
        recipe=_recipe_of(entry),
    )


def _recipe_of(entry: Entry) -> Recipe | None:
    """Return the recipe of a kept kernel, if any: it can be sent on like one made here."""
    data = entry.record.get("recipe")
    if data is None:
        return None
    dtypes = tuple(result.dtype for result in signature_of(entry.record["signature"]).results)
    libraries = tuple(data["options"]["libraries"])
    options = CompilerOptions(**{**data["options"], "libraries": libraries}, result_dtypes=dtypes)
    return Recipe(entry.files[_MODULE], data["entry"], data["trusted"], options, override())
