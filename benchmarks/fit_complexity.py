"""Fits the complexity rules on labelled questions and shows, leave-one-source-out, what they reach.

    python benchmarks/fit_complexity.py --data DATA [--without SOURCE ...] [--write]

``--write`` stores the weights in the package; ``--without`` leaves sources out of everything.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from clew.evaluation.complexity_data import load_labelled, wilson_interval
from clew.evaluation.complexity_fit import SignalTable, capped, fit_rules, rule_scores, signal_table, weights_as_json
from clew.retrieval.complexity import rules as rules_module
from clew.retrieval.complexity.features import extract_features
from clew.retrieval.complexity.rules import RuleWeights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--without", nargs="*", default=[], metavar="SOURCE")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    questions = [item for item in load_labelled(arguments.data) if item.family not in arguments.without]
    started = time.process_time()
    features = [extract_features(item.question) for item in questions]
    print(
        f"{len(questions)} questions, {(time.process_time() - started) / len(questions) * 1e6:.0f} µs a question (CPU)"
    )
    table = signal_table(questions, features)
    languages = np.array([item.language for item in questions])
    fitted: dict[str, RuleWeights] = {}
    reached: dict[str, Any] = {}
    for language in ("zh", "en"):
        part = table.select(languages == language)
        reached[language] = leave_one_out(part, language)
        rule = fitted[language] = fit_rules(capped(part), language)
        print(f"{language}: low {rule.low} middle {rule.middle} high {rule.high}")
        print("   ", {name: weight for name, weight in rule.weights.items() if weight > 0.1})
    if arguments.write:
        path = Path(rules_module.__file__).with_name("rule_weights.json")
        data = weights_as_json(fitted, sorted({item.family for item in questions}), reached)
        path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print("written:", path)


def leave_one_out(table: SignalTable, language: str) -> dict[str, Any]:
    """Prints and returns, per held-out source, what the rules decide and how much of it is right."""
    print(f"\n{language:26} questions decided   right [95 % interval]   single right/said   multi right/said")
    totals = np.zeros(3, dtype=int)
    shares: list[tuple[float, float]] = []
    for family in np.unique(table.families):
        held_out = table.families == family
        rule = fit_rules(capped(table.select(~held_out)), language)
        test = table.select(held_out)
        score = rule_scores(test, rule)
        single = (score <= rules_module.LOW_SCORE) & (test.entities <= 1)
        multi = score >= rules_module.HIGH_SCORE
        right_single, right_multi = int((single & ~test.multi).sum()), int((multi & test.multi).sum())
        decided, right = int((single | multi).sum()), right_single + right_multi
        totals += (len(score), decided, right)
        shares.append((decided / len(score), right / max(decided, 1)))
        low, high = wilson_interval(right, decided)
        print(
            f"{family[:26]:26} {len(score):8} {decided / len(score):7.1%} {right / max(decided, 1):7.1%}"
            f" [{low:.1%}, {high:.1%}] {right_single:8}/{int(single.sum()):<8} {right_multi:8}/{int(multi.sum())}"
        )
    low, high = wilson_interval(int(totals[2]), int(totals[1]))
    mean_decided, mean_right = (float(value) for value in np.mean(shares, axis=0))
    print(
        f"{'all':26} {totals[0]:8} {totals[1] / totals[0]:7.1%} {totals[2] / totals[1]:7.1%} [{low:.1%}, {high:.1%}]"
        f"   mean over sources: decided {mean_decided:.1%}, right {mean_right:.1%}"
    )
    return {
        "questions": int(totals[0]),
        "decided": round(float(totals[1] / totals[0]), 4),
        "right": round(float(totals[2] / totals[1]), 4),
        "interval": [round(low, 4), round(high, 4)],
        "mean_right_over_sources": round(mean_right, 4),
    }


if __name__ == "__main__":
    main()
