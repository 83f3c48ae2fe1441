import { describe, expect, it } from "vitest";
import { fieldsOf, pathsOf, valueAt, withValue } from "./schema";

const SCHEMA = {
  $defs: {
    Chat: { type: "object", properties: { url: { type: "string", default: "" }, api_key: { type: "string", format: "password", writeOnly: true } } },
    Models: { type: "object", properties: { folder: { type: "string", default: "" }, chat: { $ref: "#/$defs/Chat", default: {} } } },
    Retrieval: {
      type: "object",
      properties: {
        bm25_b: { type: "number", minimum: 0, maximum: 1, default: 0.5, description: "Length." },
        mode: { enum: ["a", "b"], type: "string", default: "a" },
        terms: { type: "array", items: { type: "string" }, default: [] },
        on: { type: "boolean", default: true },
      },
    },
  },
  properties: { retrieval: { $ref: "#/$defs/Retrieval" }, models: { $ref: "#/$defs/Models" } },
};

describe("settings as fields", () => {
  it("read type, limits, choices and default from the schema", () => {
    const fields = fieldsOf(SCHEMA, "retrieval");
    expect(fields.map((field) => [field.path, field.kind])).toEqual([
      ["retrieval.bm25_b", "number"],
      ["retrieval.mode", "choice"],
      ["retrieval.terms", "list"],
      ["retrieval.on", "boolean"],
    ]);
    expect(fields[0]).toMatchObject({ minimum: 0, maximum: 1, default: 0.5, description: "Length." });
    expect(fields[1]?.choices).toEqual(["a", "b"]);
  });

  it("leave the sections inside a section to themselves", () => {
    expect(fieldsOf(SCHEMA, "models").map((field) => field.path)).toEqual(["models.folder"]);
    expect(fieldsOf(SCHEMA, "models.chat").map((field) => field.kind)).toEqual(["text", "secret"]);
    expect(fieldsOf(SCHEMA, "nothing")).toEqual([]);
  });
});

describe("values by path", () => {
  it("are read, set and taken out again without a trace", () => {
    const one = withValue({}, "retrieval.bm25_b", 0.4);
    expect(one).toEqual({ retrieval: { bm25_b: 0.4 } });
    expect(valueAt(one, "retrieval.bm25_b")).toBe(0.4);
    expect(valueAt(one, "kind.bm25_b")).toBeUndefined();
    const two = withValue(one, "recursion.max_rounds", 4);
    expect(pathsOf(two)).toEqual(["retrieval.bm25_b", "recursion.max_rounds"]);
    expect(withValue(two, "retrieval.bm25_b", undefined)).toEqual({ recursion: { max_rounds: 4 } });
    expect(one).toEqual({ retrieval: { bm25_b: 0.4 } });
  });
});
