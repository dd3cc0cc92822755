"""The codes that reading, schema, typing and suppression give out, described like rules so that they have pages too."""

from __future__ import annotations

from clusterwright.data_files import DOCS_SITE
from clusterwright.finding import Severity
from clusterwright.rules.rule import LintRule

UNREADABLE = LintRule(
    "CW101",
    Severity.ERROR,
    "the file cannot be read",
    "Nothing can be said about a spec that is missing, empty, too large, not UTF-8 or not YAML.",
    "Mend the text at the place shown; the parser stops at the first fault, so there may be another behind it.",
    "Files of more than 4 MiB are refused before they are read: a spec states counts, not each thing by itself.",
)
DUPLICATE_KEY = LintRule(
    "CW102",
    Severity.ERROR,
    "a key is given twice",
    "YAML readers keep one of the two in silence, and not all of them the same one.",
    "Keep the one that is meant.",
)
PLAIN_YAML = LintRule(
    "CW103",
    Severity.ERROR,
    "a YAML feature that specs do not use",
    "Anchors, tags, merge keys, several documents, `.nan`, `010` and invisible characters mean different things to"
    " different readers, or nothing that a reviewer can see.",
    "Write the value out plainly; what several specs share goes into a base file named by `extends:`.",
    "Words such as `yes`, `no`, `on` and `off`, dates and `12:30` are text; truth is written `true` and `false`.\n\n"
    "Limits: 32 levels of nesting, 100,000 values, integers of 64 bits.",
)
EXTENDS_CYCLE = LintRule(
    "CW104",
    Severity.ERROR,
    "extends: goes in a circle, or through too many files",
    "A spec that builds on itself has no beginning; one that builds on more than seven others cannot be reviewed.",
    "Break the circle at the file named, or merge some of the files.",
)
EXTENDS_MISSING = LintRule(
    "CW105",
    Severity.ERROR,
    "what a spec builds on is not there",
    "`extends:` names a file that does not exist, `remove: true` an item or `null` a key that the base does not have.",
    "Name a file relative to the one that extends it, and an item or a key that is there.",
    "Mappings merge key by key. Lists of items with a `name` (or `role`, `figure`, `level`, `device`) merge item by"
    " item; new ones are appended, and `remove: true` takes one away; `key: null` takes a key away. All else is"
    " replaced.",
)
BAD_SETTINGS = LintRule(
    "CW106",
    Severity.ERROR,
    "settings that are no TOML",
    "What a project accepts, and which rules it adds, would be unknown, so that nothing is judged.",
    "Mend the line that the message names.",
    "Settings are `clusterwright.toml` or `[tool.clusterwright]` in `pyproject.toml`: see the page on pull requests.",
)
UNKNOWN_KEY = LintRule(
    "CW110",
    Severity.ERROR,
    "unknown key",
    "A misspelt key would be ignored, and the cluster built with a default that nobody chose.",
    "Take the suggestion, or one of the keys that are listed.",
)
MISSING_KEY = LintRule(
    "CW111",
    Severity.ERROR,
    "a key is missing",
    "The value cannot be derived from the rest of the spec.",
    "Add the key; the message says what it is for.",
)
WRONG_TYPE = LintRule(
    "CW112",
    Severity.ERROR,
    "a value is of another type than expected",
    'A quoted number is text, `3.0` is no count, and `yes` is the word "yes".',
    "Write a value of the type that the message names.",
)
NOT_ALLOWED = LintRule(
    "CW113",
    Severity.ERROR,
    "a value or a combination of keys that is not allowed",
    "Only the words that are listed mean something here.",
    "Take the suggestion, or one of the values that are listed; of keys that exclude each other keep one.",
)
OUT_OF_BOUNDS = LintRule(
    "CW114",
    Severity.ERROR,
    "a value out of bounds",
    "A number beyond its range or a name with characters that no device accepts would fail late, on the device.",
    "Keep to the range or pattern in the message.",
)
TOO_MANY = LintRule(
    "CW119",
    Severity.NOTE,
    "more findings of the schema than are shown",
    "Fifty findings in one file usually have one cause, such as a wrong indentation near the top.",
    "Mend the first ones and lint again.",
)
NO_REASON = LintRule(
    "CW120",
    Severity.ERROR,
    "a suppression without a reason",
    "Nobody can tell later whether it still holds, so it does not count.",
    "Write the reason after the bracket.",
    "A suppression stands on the line of the finding, or alone on the line before it. Findings of reading, schema"
    " and references (CW1xx) cannot be suppressed, nor can those that leave no plan, such as too few ports (CW201).",
)
UNUSED = LintRule(
    "CW121",
    Severity.WARNING,
    "a suppression that nothing needs",
    "It would hide the next finding of that code on the line, one that nobody has looked at.",
    "Remove it, or move it to the line of the finding.",
)
UNKNOWN_CODE = LintRule(
    "CW122",
    Severity.ERROR,
    "a suppression of a code that does not exist",
    "It suppresses nothing, though its author believed that it does.",
    "Name the code that the finding shows; findings of reading, schema and references (CW1xx) cannot be suppressed.",
)
DUPLICATE_MODEL = LintRule(
    "CW130",
    Severity.ERROR,
    "two hardware models share a name",
    "A spec that names the model would get one of the two by chance.",
    "Rename one, or remove it.",
)
INCONSISTENT_MODEL = LintRule(
    "CW131",
    Severity.ERROR,
    "a hardware model contradicts itself",
    "Its ports, speeds or interfaces do not fit each other, and every plan that uses the model would be wrong.",
    "Correct the figure that the message names against the data sheet.",
)
BAD_PLATFORM_FILE = LintRule(
    "CW180",
    Severity.ERROR,
    "a vendor's file that describes no ports",
    "Lanes, aliases and breakouts of every switch of the model come from it, and a port with another's lanes stays"
    " down, or comes up on another cage.",
    "Name the vendor's files for the platform, relative to the catalogue file that names them.",
    "Taken as they are: SONiC's `platform.json` (`interfaces` with `lanes`, `index` and `breakout_modes`), with the"
    " SKU's `hwsku.json` beside it or without, or its `port_config.ini`. A breakout is called as in a spec (`2x400` for"
    " `2x400G[200G]`); one that mixes speeds is left out.",
)
UNKNOWN_RULE = LintRule(
    "CW190",
    Severity.ERROR,
    "settings that name a rule that does not exist",
    "Its author believes that it is ignored, selected or of another severity, and it is not.",
    "Name the code that the finding shows.",
)
SETTING_WITHOUT_REASON = LintRule(
    "CW191",
    Severity.ERROR,
    "settings that accept findings without a reason",
    "Nobody can tell later whether it still holds, and it holds for every spec of the project.",
    "Write the reason as the value.",
    "An error that becomes a warning or a note is accepted too: `render` and `up` go on past it.",
)
NOT_TO_BE_IGNORED = LintRule(
    "CW192",
    Severity.ERROR,
    "settings that accept what nothing can be planned with",
    "Findings of reading, schema and references (CW1xx), and those that leave no plan, are no matter of opinion.",
    "Take the line away, and mend what the finding says.",
)
OWN_RULE_UNUSABLE = LintRule(
    "CW193",
    Severity.ERROR,
    "a file with rules of the project that cannot be used",
    "Nothing that these rules were written for is judged.",
    "Mend the file at the line that the message names.",
    "Codes that begin with `CW` are clusterwright's; give your rules a prefix of your own, such as `OURS101`.",
)
OWN_RULE_STOPPED = LintRule(
    "CW194",
    Severity.ERROR,
    "a rule of the project that stops on an error of its own",
    "It has judged nothing, and what it was written for may be wrong.",
    "Mend the rule at the line that the message names.",
)
UNKNOWN_MODEL = LintRule(
    "CW140",
    Severity.ERROR,
    "a hardware model that is not in the catalogue",
    "Ports, speeds and power come from the catalogue, so nothing can be planned with an unknown model.",
    "Take the suggestion, or describe the model in a file named under `hardware:`.",
)
BAD_PREFIX = LintRule(
    "CW141",
    Severity.ERROR,
    "a prefix that is no network, or text that is no address",
    "Bits are set behind the prefix length, or the text is no address: what was meant is a guess.",
    "Write the network's first address and its length.",
)
BAD_RANGE = LintRule(
    "CW142",
    Severity.ERROR,
    "a range that runs backwards or too far",
    "It holds nothing, or values that the protocol does not have.",
    "Write the lower bound first, and both within the limits.",
)
BAD_DATE = LintRule(
    "CW147",
    Severity.ERROR,
    "a date that no calendar has",
    "A flow whose last day cannot be read would never be reported as expired.",
    "Write the day as year, month and day, such as 2026-12-31.",
)
MORE_THAN_A_LINE = LintRule(
    "CW172",
    Severity.ERROR,
    "a text with a line end or another control character",
    "What is written from it would have a line more than anybody meant: a command, a mount, an account.",
    "Write it on one line.",
    "This holds for every text and every key of a file, also inside `extra_config`. A text folded over several lines"
    " begins with `>-`; `>` and `|` leave a line end behind it. What else a text may hold depends on its kind:"
    f" {DOCS_SITE}/spec.html lists the kinds under strings.",
)
BAD_CHIP_FILE = LintRule(
    "CW433",
    Severity.ERROR,
    "a vendor's file that holds no chip settings",
    "What the file was to bring would be missing on every switch of the model, and their agent would not start.",
    "Name the vendor's JSON file for the platform, relative to the spec that names it.",
    "The file is an object with `chip`, or with `platform` that has `chip`, as an `agent.conf` of FBOSS: what stands"
    " under `platform` goes into every switch's own as it is.",
)
