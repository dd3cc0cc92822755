"""The codes reported by reading, schema, typing and suppression: rules without a check, with pages too."""

from __future__ import annotations

from clusterwright.finding import Severity
from clusterwright.rules.rule import LintRule

UNREADABLE = LintRule("CW101", Severity.ERROR)
DUPLICATE_KEY = LintRule("CW102", Severity.ERROR)
PLAIN_YAML = LintRule("CW103", Severity.ERROR)
EXTENDS_CYCLE = LintRule("CW104", Severity.ERROR)
EXTENDS_MISSING = LintRule("CW105", Severity.ERROR)
BAD_SETTINGS = LintRule("CW106", Severity.ERROR)
OUTSIDE_WHAT_IS_READ = LintRule("CW162", Severity.ERROR)
SETTINGS_OF_OTHERS = LintRule("CW161", Severity.ERROR)
UNKNOWN_KEY = LintRule("CW110", Severity.ERROR)
MISSING_KEY = LintRule("CW111", Severity.ERROR)
WRONG_TYPE = LintRule("CW112", Severity.ERROR)
NOT_ALLOWED = LintRule("CW113", Severity.ERROR)
OUT_OF_BOUNDS = LintRule("CW114", Severity.ERROR)
TOO_MANY = LintRule("CW119", Severity.NOTE)
NO_REASON = LintRule("CW120", Severity.ERROR)
UNUSED = LintRule("CW121", Severity.WARNING)
UNKNOWN_CODE = LintRule("CW122", Severity.ERROR)
DUPLICATE_MODEL = LintRule("CW130", Severity.ERROR)
INCONSISTENT_MODEL = LintRule("CW131", Severity.ERROR)
BAD_PLATFORM_FILE = LintRule("CW180", Severity.ERROR)
UNKNOWN_RULE = LintRule("CW190", Severity.ERROR)
SETTING_WITHOUT_REASON = LintRule("CW191", Severity.ERROR)
NOT_TO_BE_IGNORED = LintRule("CW192", Severity.ERROR)
OWN_RULE_UNUSABLE = LintRule("CW193", Severity.ERROR)
OWN_RULE_STOPPED = LintRule("CW194", Severity.ERROR)
UNKNOWN_MODEL = LintRule("CW140", Severity.ERROR)
BAD_PREFIX = LintRule("CW141", Severity.ERROR)
BAD_RANGE = LintRule("CW142", Severity.ERROR)
BAD_DATE = LintRule("CW147", Severity.ERROR)
MORE_THAN_A_LINE = LintRule("CW172", Severity.ERROR)
BAD_CHIP_FILE = LintRule("CW433", Severity.ERROR)
