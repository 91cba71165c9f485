/** A piece of SQL with its values. Only the `sql` tag makes one, so values never enter the text. */
export type Sql = {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly parts: readonly string[];
};

/** Values become parameters. A nested `sql` piece becomes part of the text, with its own values. */
export function sql(strings: TemplateStringsArray, ...inserts: unknown[]): Sql {
  const parts: string[] = [strings[0] ?? ""];
  const values: unknown[] = [];
  inserts.forEach((insert, position) => {
    const after = strings[position + 1] ?? "";
    if (isSql(insert)) {
      const [first = "", ...rest] = insert.parts;
      parts[parts.length - 1] += first;
      parts.push(...rest);
      values.push(...insert.values);
      parts[parts.length - 1] += after;
    } else {
      values.push(insert);
      parts.push(after);
    }
  });
  return { parts, values, text: textOf(parts) };
}

/** The conjunction of the given conditions; null stands for no condition. */
export function allOf(conditions: readonly (Sql | null)[]): Sql {
  return conditions
    .filter((condition) => condition !== null)
    .reduce((all, condition) => sql`${all} and ${condition}`, sql`true`);
}

/** For names and keywords from our own code, such as a sort direction. Never for outside text. */
export function rawSql(text: string): Sql {
  return { parts: [text], values: [], text };
}

function isSql(value: unknown): value is Sql {
  return typeof value === "object" && value !== null && "parts" in value && "values" in value;
}

function textOf(parts: readonly string[]): string {
  let text = parts[0] ?? "";
  for (let n = 1; n < parts.length; n += 1) text += `$${n}${parts[n]}`;
  return text;
}
