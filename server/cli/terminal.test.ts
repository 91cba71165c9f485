import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { terminalOn } from "./terminal.ts";

/** A keyboard that records whether it echoes what is typed. */
function keyboard() {
  const raw: boolean[] = [];
  const setRawMode = (isRaw: boolean) => void raw.push(isRaw);
  return { input: Object.assign(new PassThrough(), { isTTY: true, setRawMode }), raw };
}

test("input from a keyboard is one line, and is not echoed", async () => {
  const { input, raw } = keyboard();
  const [output, errors] = [new PassThrough(), new PassThrough()];
  let shown = "";
  for (const stream of [output, errors])
    stream.on("data", (chunk: Buffer) => {
      shown += chunk.toString();
    });
  const reading = terminalOn({ input, output, errors }, false).readSecret();
  assert.deepEqual(raw, [true], "the terminal itself shows nothing");

  input.write("violet tramX\u007f 88\r");

  assert.equal(await reading, "violet tram 88");
  assert.deepEqual(raw, [true, false]);
  await new Promise(setImmediate);
  assert.equal(shown, "Type it, then press Enter (it is not shown): \n");
});

test("stopping instead of typing is not taken for typing nothing", async () => {
  const { input, raw } = keyboard();
  const streams = { input, output: new PassThrough(), errors: new PassThrough() };
  const reading = terminalOn(streams, false).readSecret();

  input.end("violet\u0003");

  await assert.rejects(reading, /^CommandFailure: Interrupted/);
  assert.deepEqual(raw, [true, false]);
});

test("a password is read whole, with its spaces and the characters whose octets come one by one", async () => {
  const { streams, terminal } = file();
  const reading = terminal.readSecret();
  for (const octet of Buffer.from(" pässwörd \r\n")) {
    streams.input.write(Buffer.from([octet]));
    await new Promise(setImmediate);
  }
  streams.input.end();

  assert.equal(await reading, " pässwörd ");
});

test("a file that is no password is refused in a sentence", async () => {
  const { streams, terminal } = file();
  const reading = terminal.readSecret();

  streams.input.end("x".repeat(64 * 1024 + 1));

  await assert.rejects(reading, /^CommandFailure: Standard input is too long for a password/);
});

test("printed text cannot steer the terminal, whoever wrote it", () => {
  const { streams, terminal } = file();

  terminal.say("refused: \u001B[2J\u009B31m\rred\u202E\nnext");

  assert.equal(
    streams.errors.read().toString(),
    "refused: \uFFFD[2J\uFFFD31m\uFFFDred\uFFFD\nnext\n",
  );
});

test("JSON cannot steer the terminal either, and keeps its meaning", () => {
  const { streams, terminal } = file();
  const low = String.fromCharCode(...Array.from({ length: 0x300 }, (_, n) => n));
  const everything = `${low}\u202E\u2066`;

  terminal.printJson({ [everything]: everything, letters: "ü€😀" });

  const line = streams.output.read().toString();
  assert.match(line, /^[^\p{Cc}\u202A-\u202E\u2066-\u2069]+\n$/u);
  assert.deepEqual(JSON.parse(line), { [everything]: everything, letters: "ü€😀" });
  assert.ok(line.includes("ü€😀"));
});

/** Standard input that is not a keyboard. */
function file() {
  const streams = {
    input: new PassThrough(),
    output: new PassThrough(),
    errors: new PassThrough(),
  };
  return { streams, terminal: terminalOn(streams, false) };
}
