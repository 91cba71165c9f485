import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { tameJson, tameText } from "#platform";
import { CommandFailure } from "./command.ts";

/** Where a command reads and writes. */
export type Terminal = {
  /** Whether results are JSON: because of `--json`, or because standard output is no terminal. */
  isJson: boolean;
  /** Prints a result to standard output. */
  print(text: string): void;
  /** Prints a result as one line of JSON. */
  printJson(value: unknown): void;
  /** Writes prose and progress to standard error. */
  say(text: string): void;
  /** Reads standard input but its last newline: for secrets, which do not belong in arguments. */
  readSecret(): Promise<string>;
};

export type Streams = {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream & { isTTY?: boolean };
  errors: NodeJS.WritableStream;
};

/** More than any password or key needs; a longer input is a mistake. */
const MAX_INPUT = 64 * 1024;

export function terminalOn(streams: Streams, wantsJson: boolean): Terminal {
  const { input, output, errors } = streams;
  const print = (text: string) => void output.write(`${text}\n`);
  return {
    isJson: wantsJson || output.isTTY !== true,
    print,
    printJson: (value) => print(plainJson(value)),
    say: (text) => void errors.write(`${tameText(text)}\n`),
    async readSecret() {
      if (!input.isTTY) return readText(input);
      errors.write("Type it, then press Enter (it is not shown): ");
      const line = await readUnseen(input);
      errors.write("\n");
      return line;
    },
  };
}

/** JSON in which text from other parties cannot control the terminal either. */
export function plainJson(value: unknown): string {
  return tameJson(JSON.stringify(value));
}

/** Reads one line from a keyboard in raw mode, so that nothing echoes what is typed. */
async function readUnseen(input: Streams["input"]): Promise<string> {
  const lines = createInterface({ input, output: nowhere(), terminal: true });
  try {
    return await new Promise((resolve, reject) => {
      lines.once("line", resolve);
      // In raw mode, Ctrl+C is a key like any other.
      lines.once("SIGINT", () => reject(new CommandFailure("Interrupted. Nothing was done.")));
      lines.once("close", () => resolve(""));
    });
  } finally {
    lines.close();
  }
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/** Reads until the end of the input. */
async function readText(input: Streams["input"]): Promise<string> {
  let text = "";
  // A chunk may end in the middle of a character.
  input.setEncoding("utf8");
  for await (const chunk of input) {
    text += chunk.toString();
    if (text.length > MAX_INPUT)
      throw new CommandFailure("Standard input is too long for a password.");
  }
  return text.replace(/\r?\n$/, "");
}
