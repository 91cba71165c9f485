import assert from "node:assert/strict";
import { type Detail, type ErrorCode, errors } from "#contract";

/** The part of an answer that these checks need, from `inject` or from a socket. */
export type AnyAnswer = {
  statusCode: number;
  headers: Record<string, unknown>;
  body: string;
};

export type ProblemBody = {
  code: ErrorCode;
  message: string;
  details: Detail[];
  docUrl: string;
  requestId: string;
};

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Checks that an answer is this error in the one error format, and returns the error. */
export function problemOf(answer: AnyAnswer, code: ErrorCode): ProblemBody {
  const problem = anyProblemOf(answer);
  assert.equal(problem.code, code, answer.body);
  return problem;
}

/** Checks that an answer is any declared error in the one error format. */
export function anyProblemOf(answer: AnyAnswer): ProblemBody {
  assert.match(String(answer.headers["content-type"]), /^application\/json; charset=utf-8$/);
  const body = JSON.parse(answer.body) as { error: ProblemBody };
  assert.deepEqual(Object.keys(body), ["error"]);
  const { error } = body;
  assert.deepEqual(Object.keys(error), ["code", "message", "details", "docUrl", "requestId"]);
  assert.ok(Object.hasOwn(errors, error.code), `${error.code} is not in the registry`);
  assert.equal(answer.statusCode, errors[error.code].status);
  assert.equal(error.message, errors[error.code].message);
  assert.equal(error.docUrl, `http://posthorn.test/docs/errors/${error.code}`);
  assert.match(error.requestId, UUID_V7);
  assert.equal(answer.headers["x-request-id"], error.requestId);
  for (const detail of error.details) {
    assert.ok(detail.field === null || typeof detail.field === "string");
    assert.equal(typeof detail.code, "string");
    assert.equal(typeof detail.message, "string");
  }
  return error;
}

/** The wrong fields of a 422 with their codes: `{ recipient: "RECIPIENT_INVALID" }`. */
export function wrongFields(answer: AnyAnswer): Record<string, string> {
  const { details } = problemOf(answer, "VALIDATION_FAILED");
  const fields = details.map(({ field, code }) => [String(field), code] as const);
  assert.equal(new Set(fields.map(([field]) => field)).size, fields.length, answer.body);
  return Object.fromEntries(fields);
}
