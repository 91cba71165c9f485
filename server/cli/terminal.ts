import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { CommandFailure } from "./command.ts";

/** Where a command reads and writes. */
export type Terminal = {
  /** Whether results are JSON: asked for by `--json`, or because nobody is looking. */
  isJson: boolean;
  /** Results, on standard output. */
  print(text: string): void;
  /** The same as one line of JSON. */
  printJson(value: unknown): void;
  /** Prose and progress, on standard error. */
  say(text: string): void;
  /** Standard input, but for its last line end: for secrets, which must not stand on the command line. */
  readSecret(): Promise<string>;
};

export type Streams = {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream & { isTTY?: boolean };
  errors: NodeJS.WritableStream;
};

/** More than any password or key has; a longer input is a mistake. */
const MAX_INPUT = 64 * 1024;

export function terminalOn(streams: Streams, wantsJson: boolean): Terminal {
  const { input, output, errors } = streams;
  const print = (text: string) => void output.write(`${text}\n`);
  return {
    isJson: wantsJson || output.isTTY !== true,
    print,
    printJson: (value) => print(plainJson(value)),
    // What others wrote, such as a carrier's words, must not steer the terminal.
    say: (text) => void errors.write(`${text.replaceAll(/[^\P{Cc}\n]/gu, "\uFFFD")}\n`),
    async readSecret() {
      if (!input.isTTY) return readText(input);
      errors.write("Type it, then press Enter (it is not shown): ");
      const line = await readUnseen(input);
      errors.write("\n");
      return line;
    },
  };
}

/** JSON leaves DEL and the controls after it as they are: what others wrote must not steer the terminal here either. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007F-\u009F]/g,
    (control) => `\\u00${control.charCodeAt(0).toString(16)}`,
  );
}

/** One line from a keyboard. As a terminal it is read raw, so what is typed is shown by us or by nobody. */
async function readUnseen(input: Streams["input"]): Promise<string> {
  const lines = createInterface({ input, output: nowhere(), terminal: true });
  try {
    return await new Promise((resolve, reject) => {
      lines.once("line", resolve);
      // While the keyboard is read raw, Ctrl+C is a key like any other.
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

/** To its end. */
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
