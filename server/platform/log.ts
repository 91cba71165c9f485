import { type DestinationStream, pino } from "pino";
import { DatabaseUnavailable } from "./unavailable.ts";

type Write = (fields: object, sentence: string) => void;

/** Fields and a sentence. Never a message text, a key, a whole phone number. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write };

/** Anything that looks like an API key or a signing secret, wherever it stands in a line. */
const SECRETS = /\bsms_[0-9A-Za-z]{36}\b|\bwhsec_[0-9A-Za-z+/=]{20,}/g;

/** JSON lines on standard error. Secrets are cut out of the finished line, whatever field holds them. */
export function createLog(level: string, destination: DestinationStream = process.stderr): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      errorKey: "error",
      serializers: { error: describeError },
      redact: [
        "*.password",
        "*.secret",
        'headers["x-api-key"]',
        "headers.cookie",
        "headers.authorization",
      ],
    },
    { write: (line: string) => destination.write(line.replace(SECRETS, "[secret]")) },
  );
}

/**
 * What an error may say of itself. The database's detail is left out with everything else that nobody
 * thought of: it repeats the row that failed, with its text and number.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Every loop and request meets an outage: what is away matters, not where it was missed.
  if (error instanceof DatabaseUnavailable) return { type: error.name, message: error.message };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code, constraint, table, routine } = error as Error & DatabaseFields;
  return { type, message, stack, code, constraint, table, routine };
}

type DatabaseFields = Partial<Record<"code" | "constraint" | "table" | "routine", string>>;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
