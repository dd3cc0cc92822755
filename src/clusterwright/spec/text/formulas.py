"""Text that spreadsheets run as a formula."""

# A cell beginning with one of these is run as a formula (OWASP: CSV injection).
FORMULA_STARTS = frozenset("=+-@\t\r\n")
