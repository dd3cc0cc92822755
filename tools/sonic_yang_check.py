"""Run by tools/sonic-yang in its root: SONiC's sonic_yang over the files beside it.

Arguments: the release of the program, that of the models, and the folder of the binding.
"""

import importlib
import json
import sys
from pathlib import Path

import jinja2

SOURCE = Path("/src")
program, release, binding = sys.argv[1:]
sys.path[:0] = [str(SOURCE / binding), str(SOURCE / program / "src/sonic-yang-mgmt")]
sonic_yang = importlib.import_module("sonic_yang")  # found by the two folders above

folder = SOURCE / release / "src/sonic-yang-models"
models = folder / "yang-models"
# As setup.py of sonic-yang-models makes the rest of the models.
loader = jinja2.FileSystemLoader(folder / "yang-templates")
templates = jinja2.Environment(loader=loader, trim_blocks=True)  # noqa: S701 (no HTML)
for name in templates.list_templates():
    (models / name.removesuffix(".j2")).write_text(templates.get_template(name).render(yang_model_type="py"))
checker = sonic_yang.SonicYang(str(models), print_log_enabled=False)
checker.loadYangModel()
for file in sorted((SOURCE / "files").iterdir(), key=lambda file: int(file.stem)):
    try:
        checker.loadData(json.loads(file.read_text()))
        checker.validate_data_tree()
        without_model = sorted(checker.tablesWithOutYang)
        answer = f"tables without a model: {without_model}" if without_model else "valid"
    except sonic_yang.SonicYangException as error:
        answer = " ".join(str(error).split())
    print(file.stem, answer, sep="\t")
