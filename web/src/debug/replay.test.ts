import { describe, expect, it } from "vitest";
import cases from "../../../tests/data/decision_replays.json";
import type { Decision, KindDecision } from "../api/client";
import { replayKind, replayMode, turnedOver } from "./replay";

describe("decisions under other thresholds", () => {
  it.each(cases.complexity)("$name", ({ decision, thresholds, mode }) => {
    expect(replayMode(decision as unknown as Decision, { ...cases.complexity_defaults, ...thresholds })).toBe(mode);
  });

  it.each(cases.kind)("$name", ({ decision, thresholds, kind }) => {
    expect(replayKind(decision as unknown as KindDecision, { ...cases.kind_defaults, ...thresholds })).toBe(kind);
  });

  it("those that turn over are listed, but none that the first look-up turned over", () => {
    const decision = { mode: "multi", source: "rules", rule_score: 0.8, features: {} } as unknown as Decision;
    const moved = { ...cases.complexity_defaults, rules_multi_threshold: 0.9, fallback_rules_threshold: 0.9 };
    const looked = ["weak_first_round", "strong_first_round"].map((source) => ({ ...decision, source }));
    expect(turnedOver([decision, ...looked, { ...decision, rule_score: 0.95 }], moved)).toEqual([decision]);
  });
});
