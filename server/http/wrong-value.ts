import Schema from "typebox/schema";

type Fault = { keyword: string; params: Record<string, unknown>; message: string };

/** What is wrong with a value, in words that follow its name; undefined if it fits the schema. */
export function whatIsWrong(
  schema: object & { description?: string },
  value: unknown,
): string | undefined {
  const [, [fault]] = Schema.Errors(schema, value) as unknown as [boolean, Fault[]];
  // A pattern tells people nothing; its description does.
  if (fault?.keyword === "pattern" && schema.description !== undefined)
    return `must be ${phrase(schema.description)}`;
  return fault && rule(fault);
}

/** A sentence, worded as a part of another one. */
function phrase(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "");
}

function rule({ keyword, params, message }: Fault): string {
  const limit = String(params["limit"]);
  switch (keyword) {
    case "type":
      return `must be ${words(strings(params["type"]))}`;
    case "enum":
      return `must be one of ${strings(params["allowedValues"]).join(", ")}`;
    case "pattern":
      return `must match ${String(params["pattern"])}`;
    case "format":
      return `must be ${FORMATS[String(params["format"])] ?? String(params["format"])}`;
    case "minItems":
      return `must hold at least ${limit}`;
    case "maxItems":
      return `must hold at most ${limit}`;
    case "maxProperties":
      return `must hold at most ${limit} entries`;
    case "minimum":
      return `must be ${limit} or more`;
    case "maximum":
      return `must be ${limit} or less`;
    case "minLength":
      return `must have at least ${limit} character${limit === "1" ? "" : "s"}`;
    case "maxLength":
      return `must have at most ${limit} characters`;
    default:
      return message;
  }
}

const FORMATS: Record<string, string> = {
  "date-time": "an ISO 8601 time with a zone, such as 2026-11-15T09:30:00.000Z",
  uuid: "a UUID",
};

const ARTICLES: Record<string, string> = {
  string: "a string",
  integer: "a whole number",
  number: "a number",
  object: "an object",
  array: "a list",
  boolean: "true or false",
};

function words(types: string[]): string {
  return types
    .filter((type) => type !== "null")
    .map((type) => ARTICLES[type] ?? type)
    .join(" or ");
}

function strings(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((entry) => entry !== null && entry !== undefined).map(String);
}
