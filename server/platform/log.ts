import { type DestinationStream, pino } from "pino";
import { tameJson } from "./tame.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

type Write = (fields: object, sentence: string) => void;

/** Writes fields and a sentence. Never a message text, a key or a whole phone number. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write };

/** Anything that looks like an API key or a signing secret, anywhere in a line. */
const SECRETS = /\bsms_[0-9A-Za-z]{36}\b|\bwhsec_[0-9A-Za-z+/=]{20,}/g;

/** Writes JSON lines to standard error. Secrets are cut from the finished line, in any field. */
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
    { write: (line: string) => destination.write(tameJson(line.replace(SECRETS, "[secret]"))) },
  );
}

/**
 * The parts of an error that may be logged. All others are left out, such as the database's detail,
 * which repeats the failed row with its text and number.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Every loop and request notices an outage. What is away matters, not where it was noticed.
  if (error instanceof DatabaseUnavailable) return { type: error.name, message: error.message };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code, constraint, table, routine } = error as Error & DatabaseFields;
  return { type, message, stack, code, constraint, table, routine };
}

type DatabaseFields = Partial<Record<"code" | "constraint" | "table" | "routine", string>>;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
