"""What nbgrader needs to know to hand out notebooks/solutions without the solutions.

A lecturer copies this file into the folder of the course; tools/make_exercises.py reads it too.
"""

c = get_config()  # noqa: F821

# What a student finds in place of a solution; without a value, Run All goes through and `check` says "not tried yet".
c.ClearSolutions.code_stub = {"python": "answer = ...  # your answer here"}

# Worked answers are cells of their own, tagged "solution".
c.TagRemovePreprocessor.enabled = True
c.TagRemovePreprocessor.remove_cell_tags = {"solution"}
c.GenerateAssignment.preprocessors.prepend(["nbconvert.preprocessors.TagRemovePreprocessor"])
