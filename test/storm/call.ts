import type { Outcome } from "./history.ts";

type Call = {
  method: "GET" | "POST";
  path: string;
  key: string;
  idempotencyKey?: string;
  body?: unknown;
};

type Called<Body> = {
  outcome: Outcome;
  code: string | null;
  body: Body | null;
  required: number | null;
  available: number | null;
  t0: number;
  t1: number;
};

type Problem = {
  error?: { code?: string; details?: { required?: number; available?: number }[] };
};

/** Roughly how long the service itself takes to settle an unknown commit. */
const PATIENCE_MS = 8_000;

/**
 * One request. The outcome is "refused" only if the answer says so: a request that was cut off, or
 * answered with an error of the service, may have been carried out.
 */
export async function call<Body>(url: string, given: Call): Promise<Called<Body>> {
  const t0 = performance.now();
  const nothing = { code: null, body: null, required: null, available: null, t0 };
  try {
    const answer = await fetch(`${url}${given.path}`, {
      method: given.method,
      headers: {
        "x-api-key": given.key,
        ...(given.body === undefined ? {} : { "content-type": "application/json" }),
        ...(given.idempotencyKey === undefined ? {} : { "idempotency-key": given.idempotencyKey }),
      },
      ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const body: unknown = await answer.json();
    const t1 = performance.now();
    if (answer.ok) return { ...nothing, outcome: "ok", body: body as Body, t1 };
    const { error } = body as Problem;
    const [detail] = error?.details ?? [];
    return {
      ...nothing,
      outcome: answer.status === 500 ? "unknown" : "refused",
      code: error?.code ?? String(answer.status),
      required: detail?.required ?? null,
      available: detail?.available ?? null,
      t1,
    };
  } catch {
    return { ...nothing, outcome: "unknown", t1: performance.now() };
  }
}
