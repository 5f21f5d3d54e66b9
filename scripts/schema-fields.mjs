// A JSON schema as rows for people: path of each field, whether it must be there, its type in words.

/** Integers are told without the bounds that every safe integer has. */
const UNBOUNDED = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);

/**
 * Every field below a schema, forms of one path merged.
 * @param {object} schema @param {object} [document] where `$ref` leads
 * @returns {{ path: string, required: boolean, type: string, meaning: string }[]}
 */
export function fieldsOf(schema, document = {}) {
  const rows = new Map();
  for (const row of walk(resolve(schema, document), "", document)) {
    const known = rows.get(row.path);
    rows.set(row.path, known ? merge(known, row) : row);
  }
  return [...rows.values()].map(({ path, required, types, meaning }) => {
    const type = [...types].join(" or ");
    return { path, required, type, meaning };
  });
}

function merge(one, other) {
  return {
    path: one.path,
    required: one.required && other.required,
    types: new Set([...one.types, ...other.types]),
    meaning: one.meaning || other.meaning,
  };
}

function resolve(schema, document) {
  if (schema.$ref === undefined) return schema;
  const names = schema.$ref.split("/").slice(1);
  return names.reduce((found, name) => found[name], document);
}

function* walk(schema, path, document) {
  for (const form of formsOf(schema, document)) {
    if (form.items) yield* walk(resolve(form.items, document), `${path}[]`, document);
    for (const [name, field] of Object.entries(form.properties ?? {})) {
      const inner = path ? `${path}.${name}` : name;
      const resolved = resolve(field, document);
      const required = form.required?.includes(name) ?? false;
      const types = new Set(typesOf(resolved, document));
      yield { path: inner, required, types, meaning: meaningOf(resolved) };
      yield* walk(resolved, inner, document);
    }
  }
}

function formsOf(schema, document) {
  const resolved = resolve(schema, document);
  const forms = resolved.anyOf ?? resolved.oneOf;
  return forms ? forms.flatMap((form) => formsOf(form, document)) : [resolved];
}

function meaningOf({ description = "" }) {
  return description.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
}

function typesOf(schema, document) {
  return formsOf(schema, document).flatMap((form) => {
    if (form.const !== undefined) return [code(form.const)];
    if (form.enum) return form.enum.map(code);
    if (Array.isArray(form.type)) return form.type.flatMap((type) => typesOf({ ...form, type }));
    return [wordsOf(form, document)];
  });
}

const WORDS = {
  string: ({ minLength, maxLength, pattern, format }) => {
    const length = range(minLength, maxLength);
    if (pattern) return `string like ${code(pattern)}`;
    return length
      ? `string of ${length} characters`
      : ["string", format].filter(Boolean).join(", ");
  },
  integer: ({ minimum, maximum }) => ["integer", range(minimum, maximum)].filter(Boolean).join(" "),
  number: ({ minimum, maximum }) => ["number", range(minimum, maximum)].filter(Boolean).join(" "),
  array: ({ minItems, maxItems, items = {} }, document) => {
    const types = [...new Set(typesOf(items, document))].join(" or ");
    const count = range(minItems, maxItems);
    return count ? `array of ${types}, ${count}` : `array of ${types}`;
  },
  object: ({ properties, additionalProperties }) =>
    !properties && additionalProperties?.type
      ? `map to ${typesOf(additionalProperties)}`
      : "object",
};

function wordsOf(form, document) {
  return WORDS[form.type]?.(form, document) ?? form.type ?? "any";
}

function range(least, most) {
  const [from, to] = [least, most].map((bound) => (UNBOUNDED.has(bound) ? undefined : bound));
  if (from === undefined) return to === undefined ? "" : `up to ${to}`;
  return to === undefined ? `${from} or more` : `${from} to ${to}`;
}

function code(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `\`${text.replaceAll("|", "\\|")}\``;
}
