#!/usr/bin/env python3
"""document_settings.py - writes docs/settings.md from the definitions of the settings, or checks that it is up to date.

Owns: the sections of the page and their order. Names, defaults, ranges, units,
contexts and texts are those of the sources: the calls of DefineCustom*Variable
and the tables bool_settings and int_settings anywhere in src/pg. A definition
that is in no section is an error, and so is one that cannot be read.
Called by: tools/check_tree.py (--check), a person (--write). With --check the
last line is `N passed, N failed`, counted in settings.
"""

import argparse
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = "docs/settings.md"
PREFIX = "pg_turbine."

HEADER = """# Settings

This page is generated from the sources by `tools/document_settings.py`: do not edit it. The same texts are in
`pg_settings`, in the columns `short_desc` and `extra_desc`.

*Who may change it*: **session** settings with `SET`, by anybody; **superuser** settings with `SET`, by superusers; **reload**
settings in `postgresql.conf`, by a reload; **restart** settings in `postgresql.conf`, by a restart of the server.
pg_turbine needs one more line there: `shared_preload_libraries = 'pg_turbine'`.
[Operations](operations.md#memory) adds up what the memory settings bound.
"""

SECTIONS = (
    ("What is accelerated", "", (
        "enabled", "device", "split_over_gpus", "enable_scan", "enable_join", "enable_aggregate", "enable_sort",
        "enable_partitionwise", "enable_brin", "enable_block_indexes", "enable_cache", "allow_inexact_math")),
    ("Memory and threads", "", (
        "memory_budget", "cache_size_host", "cache_size_gpu", "host_threads", "admission_wait", "compile_wait",
        "file_reader_memory")),
    ("Reading and loading", "", ("direct_threshold", "storage_path", "storage_direct_share", "cache_autoload",
                                 "cache_background_load", "gpu_tablespace_map")),
    ("Results and exports", "", ("export_lifetime", "export_socket")),
    ("CUDA functions", "", ("cuda_home", "plcuda_processes", "plcuda_memory", "plcuda_cache_size")),
    ("Diagnosis and installation", "", ("trace_file", "service_path")),
    ("For tests of pg_turbine", "Leave these alone: they serve the project's own tests.\n", (
        "debug_force_offload", "debug_plain_explain", "debug_full_code", "debug_join_shape", "debug_fault",
        "debug_stop_commit", "debug_stop_writer")))

CONTEXTS = {"PGC_USERSET": "session", "PGC_SUSET": "superuser", "PGC_SIGHUP": "reload", "PGC_POSTMASTER": "restart"}
UNITS = {"GUC_UNIT_BLOCKS": "blocks of 8 kB", "GUC_UNIT_MB": "MB", "GUC_UNIT_MS": "ms", "GUC_UNIT_S": "s"}
# What follows name, short and long text in the sources.
SHAPES = {
    "bool_settings": ("variable", "default", "flags"),
    "int_settings": ("variable", "default", "least", "most", "context", "flags"),
    "Bool": ("variable", "default", "context", "flags", "check", "assign", "show"),
    "Int": ("variable", "default", "least", "most", "context", "flags", "check", "assign", "show"),
    "String": ("variable", "default", "context", "flags", "check", "assign", "show"),
    "Real": ("variable", "default", "least", "most", "context", "flags", "check", "assign", "show"),
    "Enum": ("variable", "default", "options", "context", "flags", "check", "assign", "show"),
}

_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[\w.]+|\S', re.DOTALL)


class DefinitionError(Exception):
    """A definition that is not written as this program reads it."""


@dataclass
class Setting:
    name: str
    description: str
    details: str
    kind: str
    fields: dict

    @property
    def context(self):
        return CONTEXTS[self.fields.get("context", "PGC_USERSET")]

    @property
    def unit(self):
        return next((unit for flag, unit in UNITS.items() if flag in self.fields["flags"]), "")


def tokens_of(text):
    return [token for token in _TOKEN.findall(text) if not token.startswith(("/*", "//"))]


def unquoted(token):
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def arguments_from(tokens, at):
    """The arguments between the bracket before `at` and its partner, each as joined text; strings are put together."""
    arguments, current, depth = [], [], 0
    for token in tokens[at:]:
        if depth == 0 and token in ("}", ")", ","):
            text = "".join(unquoted(part) for part in current) if current and current[0].startswith('"') else \
                "".join(current)
            arguments.append(text)
            if token != ",":
                return arguments
            current = []
            continue
        depth += (token in "({[") - (token in ")}]")
        current.append(token)
    raise DefinitionError("a definition without an end")


def settings_of(text):
    """The settings that a source defines."""
    tokens = tokens_of(text)
    found, table = [], None
    for at, token in enumerate(tokens):
        if token in ("bool_settings", "int_settings"):
            table = token
        if token == ";":
            table = None
        if not token.startswith('"' + PREFIX) or tokens[at - 1] not in ("(", "{"):
            continue
        call = re.fullmatch(r"DefineCustom(\w+)Variable", tokens[at - 2])
        shape = call.group(1) if call else table
        if shape is None:
            continue  # a list of names with another purpose
        arguments = arguments_from(tokens, at)
        if shape not in SHAPES or len(arguments) != 3 + len(SHAPES[shape]):
            raise DefinitionError(f"{token}: its definition is not understood")
        found.append(Setting(arguments[0][len(PREFIX):], arguments[1], arguments[2], shape[0].lower(),
                             dict(zip(SHAPES[shape], arguments[3:], strict=False))))
    return found


def options_of(text, name):
    """The labels of an enumeration."""
    body = re.search(name + r"\[\] = \{(.*?)\n\};", text, re.DOTALL).group(1)
    return re.findall(r'\{"(\w+)"', body)


def read_settings(root):
    settings = {}
    for path in sorted((root / "src" / "pg").rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        if PREFIX not in text:
            continue
        for setting in settings_of(text):
            if "NULL" in (setting.description, setting.details) or not setting.details:
                raise DefinitionError(f"{path}: {PREFIX}{setting.name} has no short or no long text")
            if setting.kind == "e":
                setting.fields["labels"] = options_of(text, setting.fields["options"])
                setting.fields["default"] = setting.fields["labels"][0]
            settings[setting.name] = setting
    placed = [name for _, _, names in SECTIONS for name in names]
    if sorted(placed) != sorted(settings):
        raise DefinitionError(f"in the sources or in SECTIONS only: {sorted(set(placed) ^ set(settings))}")
    return settings


def default_of(setting):
    value = setting.fields["default"]
    if setting.kind == "b":
        return "on" if value == "true" else "off"
    return f"{value} {setting.unit}".strip() if value not in ("", "0", "-1") else value or "empty"


def range_of(setting):
    if setting.kind == "e":
        return ", ".join(f"`{label}`" for label in setting.fields["labels"])
    if setting.kind == "r":
        return f"{setting.fields['least']} to {setting.fields['most']}"
    if setting.kind != "i":
        return {"b": "`on`, `off`", "s": "text"}[setting.kind]
    least, most = setting.fields["least"], setting.fields["most"]
    most = "and more" if most == "INT_MAX" else f"to {math.prod(int(factor) for factor in most.split('*'))}"
    return f"{least} {most}" + (f" ({setting.unit})" if setting.unit in ("MB", "ms", "s") else "")


def page(settings):
    lines = [HEADER]
    for title, words, names in SECTIONS:
        lines += [f"## {title}", ""] + ([words] if words else [])
        lines += ["| setting | default | values | who may change it | meaning |", "|---|---|---|---|---|"]
        for name in names:
            setting = settings[name]
            text = f"{setting.description} {setting.details}".replace("|", "\\|")
            lines.append(f"| `{PREFIX}{name}` | {default_of(setting)} | {range_of(setting)} | {setting.context} | {text} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=REPOSITORY)
    parser.add_argument("--write", action="store_true", help="write the page instead of checking it")
    options = parser.parse_args(arguments)
    try:
        settings = read_settings(options.root)
    except DefinitionError as error:
        print(f"{error}\n0 passed, 1 failed")
        return 1
    text, file = page(settings), options.root / PAGE
    if options.write:
        file.write_text(text, encoding="utf-8")
        return 0
    fresh = file.exists() and file.read_text(encoding="utf-8") == text
    if not fresh:
        print(f"{PAGE} is out of date: run tools/document_settings.py --write")
    print(f"{len(settings) if fresh else 0} passed, {0 if fresh else len(settings)} failed")
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main())
