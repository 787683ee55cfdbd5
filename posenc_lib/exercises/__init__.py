"""Exercises that answer back: checks with feedback, hints, predictions and quizzes, and what became of them.

A file lesson_NN.py holds a lesson's exercises, quiz and interview questions. Nothing here raises for what a learner
answers; a wrong id or argument in the notebook itself raises ValueError or TypeError.
"""

from posenc_lib.exercises.catalogue import exercises as _exercises
from posenc_lib.exercises.checks import Feedback, check, hint, progress
from posenc_lib.exercises.predictions import Prediction, predict, reveal
from posenc_lib.exercises.quizzes import Quiz, interview, interview_questions, quiz

__all__ = [
    "EXERCISES",
    "Feedback",
    "Prediction",
    "Quiz",
    "check",
    "hint",
    "interview",
    "interview_questions",
    "predict",
    "progress",
    "quiz",
    "reveal",
]

EXERCISES: tuple[str, ...] = tuple(_exercises)
"""The ids of all exercises, in the order of the lessons."""
