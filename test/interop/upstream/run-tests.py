"""Runs a package's unittest tests and prints the outcome of each as a JSON line: {"test", "outcome", "why"}.
`run-tests.py PACKAGE...`; each package must be importable. `BEFORE_TESTS`: a file that is run first."""

import importlib
import json
import os
import runpy
import sys
import unittest

import testtools


# what tests and their libraries print is for people
lines = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


class Report(unittest.TestResult):
    """One line for each test, as it ends; a class or module that can't be set up counts as a failed test."""

    def tell(self, test, outcome, why=""):
        print(json.dumps({"test": test.id(), "outcome": outcome, "why": why}), file=lines, flush=True)

    def addSuccess(self, test):
        self.tell(test, "passed")

    def addError(self, test, error):
        # testtools puts the log before the traceback
        self.tell(test, "failed", f"{error[0].__name__}: {error[1]}".split("}}}")[-1].strip()[-1500:])

    addFailure = addError

    def addSkip(self, test, reason):
        self.tell(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.tell(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.tell(test, "failed", "unexpected success")


def tests_of(name):
    package = os.path.dirname(importlib.import_module(name).__file__)
    return unittest.defaultTestLoader.discover(package, top_level_dir=package.removesuffix(name.replace(".", "/")))


if "BEFORE_TESTS" in os.environ:
    runpy.run_path(os.environ["BEFORE_TESTS"])
for name in sys.argv[1:]:
    tests_of(name).run(testtools.ExtendedToOriginalDecorator(Report()))
print(json.dumps("ended"), file=lines, flush=True)
