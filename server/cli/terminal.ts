/** Where a command reads and writes. */
export type Terminal = {
  /** Whether results are JSON: asked for by `--json`, or because nobody is looking. */
  isJson: boolean;
  /** Results, on standard output. */
  print(text: string): void;
  /** Prose and progress, on standard error. */
  say(text: string): void;
  /** The whole of standard input, for secrets that must not stand on the command line. */
  readInput(): Promise<string>;
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
  return {
    isJson: wantsJson || output.isTTY !== true,
    print: (text) => void output.write(`${text}\n`),
    say: (text) => void errors.write(`${text}\n`),
    async readInput() {
      if (input.isTTY) errors.write("Type it, then press Enter: ");
      return readText(input);
    },
  };
}

/** To its end, or from a keyboard the first line. */
async function readText(input: Streams["input"]): Promise<string> {
  let text = "";
  for await (const chunk of input) {
    text += chunk.toString();
    if (text.length > MAX_INPUT)
      throw new Error("Standard input holds more than a password can have.");
    if (input.isTTY && text.includes("\n")) break;
  }
  return text;
}
