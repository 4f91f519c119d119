#!/usr/bin/env python3
"""Runs the preview 1 part of the WASI test suite through `sandbar wasm` and counts.

    tests/wasi-suite.py [SUITE] [--runner "target/debug/sandbar wasm"] [--only NAME]

SUITE is a checkout of <https://github.com/WebAssembly/wasi-testsuite>, branch `prod/testsuite-base` (it holds the compiled tests); without
one it is fetched into target/wasi-testsuite. The suite is never part of this repository. Exits with 1 when a test fails or none ran.

Each test is a module with an optional .json beside it: arguments, environment, root directory, expected exit code and output (the
suite's doc/specification.md). Tests leave `*.cleanup` behind; every run works on its own copy of the test's root.
"""

import argparse
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = "https://github.com/WebAssembly/wasi-testsuite"
BRANCH = "prod/testsuite-base"
# Seconds that one test may take; the slowest takes below one.
TIMEOUT = 60


def fetched(root):
    suite = root / "target" / "wasi-testsuite"
    if not suite.exists():
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", "--branch", BRANCH, REPOSITORY, str(suite)], check=True)
    return suite


def specification(test):
    """What a test is run with and what it must give: both forms of the suite's .json."""
    spec = {"args": [], "env": {}, "root": None, "exit_code": 0, "stdout": None, "stderr": None}
    path = test.with_suffix(".json")
    if not path.exists():
        return spec
    given = json.loads(path.read_text())
    for operation in given.pop("operations", []):
        kind = operation.get("type")
        if kind == "run":
            spec.update({key: operation[key] for key in ("args", "env", "root") if key in operation})
        elif kind == "wait":
            spec["exit_code"] = operation.get("exit_code", 0)
        elif kind == "read" and operation.get("id", "stdout") in ("stdout", "stderr"):
            spec[operation.get("id", "stdout")] = operation.get("payload", "")
        else:
            raise ValueError(f"{path}: unknown operation {kind}")
    given.pop("proposals", None)
    spec.update(given)
    return spec


def failure(test, runner):
    """Runs one test; what is wrong, or None."""
    spec = specification(test)
    with tempfile.TemporaryDirectory() as scratch:
        command = list(runner)
        for name, value in spec["env"].items():
            command += ["--env", f"{name}={value}"]
        if spec["root"]:
            root = pathlib.Path(scratch) / "root"
            shutil.copytree(test.parent / spec["root"], root, symlinks=True)
            for left_over in root.rglob("*.cleanup"):
                shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
            command += ["--dir", f"{root}::/"]
        command += [str(test), *spec["args"]]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return f"does not end within {TIMEOUT} s"
    stderr = done.stderr.decode(errors="replace")
    if done.returncode != spec["exit_code"]:
        return f"exits with {done.returncode}, not {spec['exit_code']}: {stderr.strip()}"
    for name, text in (("stdout", done.stdout.decode(errors="replace")), ("stderr", stderr)):
        if spec[name] is not None and text != spec[name]:
            return f"{name} is {text!r}, not {spec[name]!r}"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="?", type=pathlib.Path)
    parser.add_argument("--runner", default=f"{root}/target/debug/sandbar wasm")
    parser.add_argument("--only", default="", help="part of a test's name")
    options = parser.parse_args()
    suite = options.suite or fetched(root)
    runner = shlex.split(options.runner)
    passed = failed = 0
    for group in ("assemblyscript", "c", "rust"):
        tests = sorted((suite / "tests" / group / "testsuite" / "wasm32-wasip1").glob("*.wasm"))
        ran = 0
        for test in tests:
            if options.only not in test.stem:
                continue
            wrong = failure(test, runner)
            ran += 1
            if wrong is None:
                passed += 1
            else:
                failed += 1
                print(f"FAIL {group}/{test.stem}: {wrong}")
        print(f"{group}: {ran} tests")
    print(f"{passed} passed, {failed} failed")
    sys.exit(0 if passed and not failed else 1)


if __name__ == "__main__":
    main()
