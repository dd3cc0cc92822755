"""Values of managed InfiniBand switches allowed to differ from the rendered ones: words for people alone."""

from __future__ import annotations

from clusterwright.facts.values import FieldValues, IdleFields, field_pattern, line_pattern

_NOTHING = field_pattern("")
NVOS = FieldValues(
    judged=_NOTHING,
    harmless=(
        IdleFields("nvued", "words for people", field_pattern("interface * : description\nsystem message : *")),
        IdleFields("nvued", "a remark of a list", field_pattern("acl * rule * : remark")),
    ),
)
MLNX_OS = FieldValues(
    judged=_NOTHING,
    harmless=(IdleFields("mgmtd", "names that are looked for", line_pattern([(r"ip domain-list \S+", "")])),),
)
