/** The settings as a form needs them: one field a setting, read from the server's JSON Schema. */

export type Values = Readonly<Record<string, unknown>>;

export interface Field {
  /** `retrieval.bm25_b` */
  path: string;
  kind: "number" | "integer" | "boolean" | "text" | "choice" | "list" | "map" | "secret";
  choices: readonly string[];
  minimum: number | undefined;
  maximum: number | undefined;
  default: unknown;
  /** What the server says of it, in English. */
  description: string;
}

interface Node {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  default?: unknown;
  description?: string;
  properties?: Record<string, Node>;
  $defs?: Record<string, Node>;
}

/** The fields of one section, which may lie inside another (`models.chat`); `deep`: also of the sections inside it. */
export function fieldsOf(schema: Values, section: string, deep = false): Field[] {
  const root = schema as Node;
  let node: Node | undefined = root;
  for (const key of section.split(".")) node = resolved(root, node?.properties?.[key]);
  return Object.entries(node?.properties ?? {}).flatMap(([name, property]) => {
    if (resolved(root, property)?.properties) return deep ? fieldsOf(schema, `${section}.${name}`, true) : [];
    return [fieldOf(`${section}.${name}`, property)];
  });
}

function resolved(root: Node, node: Node | undefined): Node | undefined {
  return node?.$ref === undefined ? node : root.$defs?.[node.$ref.split("/").at(-1) ?? ""];
}

function fieldOf(path: string, node: Node): Field {
  return {
    path,
    kind: kindOf(node),
    choices: (node.enum ?? (node.const === undefined ? [] : [node.const])).map(String),
    minimum: node.minimum,
    maximum: node.maximum,
    default: node.default,
    description: node.description ?? "",
  };
}

function kindOf(node: Node): Field["kind"] {
  if (node.enum || node.const !== undefined) return "choice";
  if (node.format === "password") return "secret";
  switch (node.type) {
    case "boolean":
    case "number":
    case "integer":
      return node.type;
    case "array":
      return "list";
    case "object":
      return "map";
    default:
      return "text";
  }
}

/** The value at a dotted path; undefined where there is none. */
export function valueAt(values: Values | undefined, path: string): unknown {
  let value: unknown = values;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Values)[key];
  }
  return value;
}

/** The values with one changed; `undefined` takes it out, and sections that are left empty with it. */
export function withValue(values: Values, path: string, value: unknown): Values {
  const [key = "", ...rest] = path.split(".");
  const next: Record<string, unknown> = { ...values };
  if (rest.length === 0) next[key] = value;
  else next[key] = withValue((values[key] as Values | undefined) ?? {}, rest.join("."), value);
  const inner = next[key];
  const empty = inner === undefined || (rest.length > 0 && Object.keys(inner as Values).length === 0);
  if (empty) delete next[key];
  return next;
}

/** Dotted paths of all values that are set. */
export function pathsOf(values: Values, prefix = ""): string[] {
  return Object.entries(values).flatMap(([key, value]) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? pathsOf(value as Values, `${prefix}${key}.`)
      : [`${prefix}${key}`],
  );
}
