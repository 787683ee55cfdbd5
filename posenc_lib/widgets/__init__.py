"""Live pictures for the lessons: each widget is a picture, sliders and a line of text, built without arguments."""

from posenc_lib.widgets.alibi_row import AlibiRow
from posenc_lib.widgets.clock_wall import ClockWall
from posenc_lib.widgets.config_reader import ConfigReader
from posenc_lib.widgets.kernel_shapes import KernelShapes
from posenc_lib.widgets.live_figure import LiveFigure
from posenc_lib.widgets.loss_by_position import LossByPosition
from posenc_lib.widgets.reorder_sentence import ReorderSentence
from posenc_lib.widgets.rope_dial import RopeDial
from posenc_lib.widgets.score_by_distance import ScoreByDistance
from posenc_lib.widgets.shift_matrix import ShiftMatrix
from posenc_lib.widgets.sinusoidal_heat_map import SinusoidalHeatMap
from posenc_lib.widgets.stretch_rope import StretchRope
from posenc_lib.widgets.t5_staircase import T5Staircase
from posenc_lib.widgets.table_similarity import TableSimilarity
from posenc_lib.widgets.torus_walk import TorusWalk

__all__ = [
    "GALLERY",
    "AlibiRow",
    "ClockWall",
    "ConfigReader",
    "KernelShapes",
    "LiveFigure",
    "LossByPosition",
    "ReorderSentence",
    "RopeDial",
    "ScoreByDistance",
    "ShiftMatrix",
    "SinusoidalHeatMap",
    "StretchRope",
    "T5Staircase",
    "TableSimilarity",
    "TorusWalk",
]

GALLERY: dict[str, type[LiveFigure]] = {
    "reorder_sentence": ReorderSentence,
    "sinusoidal_heat_map": SinusoidalHeatMap,
    "shift_matrix": ShiftMatrix,
    "torus_walk": TorusWalk,
    "table_similarity": TableSimilarity,
    "rope_dial": RopeDial,
    "clock_wall": ClockWall,
    "score_by_distance": ScoreByDistance,
    "alibi_row": AlibiRow,
    "t5_staircase": T5Staircase,
    "kernel_shapes": KernelShapes,
    "stretch_rope": StretchRope,
    "config_reader": ConfigReader,
    "loss_by_position": LossByPosition,
}
