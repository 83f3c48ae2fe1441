"""Single hop or several: features, rules and the cascade that decides (spec 3.1)."""

from clew.retrieval.complexity.cascade import RetrievalMode, decide, replay
from clew.retrieval.complexity.features import FEATURE_NAMES, FEATURES_VERSION, ComplexityFeatures, extract_features
from clew.retrieval.complexity.rules import RuleScore, score_rules

__all__ = [
    "FEATURES_VERSION",
    "FEATURE_NAMES",
    "ComplexityFeatures",
    "RetrievalMode",
    "RuleScore",
    "decide",
    "extract_features",
    "replay",
    "score_rules",
]
