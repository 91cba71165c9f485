import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { command } from "./command.ts";
import { flag, optional, required, several, unless, withFallback } from "./input.ts";
import { oneOf, prefix, text, wholeNumber } from "./input-values.ts";
import { readArguments } from "./read-arguments.ts";

const sample = command({
  name: "sample",
  summary: "Does nothing.",
  arguments: {
    prefix: required("PREFIX", prefix, "Digits."),
    carriers: several("CARRIER", text, "Names."),
  },
  options: {
    account: required("ID", text, "An account."),
    credits: optional("N", wholeNumber(-5, 5), "Credits."),
    forwardTo: optional("URL", text, "A place."),
    overlap: withFallback("HOURS", wholeNumber(0, 72), { meaning: "Hours.", fallback: "24" }),
    watch: flag("Look."),
  },
  prints: null,
  examples: [],
  run: () => Promise.resolve(undefined),
});

test("an option that a flag replaces is needed without the flag, and refused with it", () => {
  const options = {
    smpp: unless("simulator", required("HOST", text, "A host.")),
    simulator: flag("Simulate."),
  };
  const either = { ...sample, arguments: {}, options };

  assert.deepEqual(readArguments(either, []), {
    outcome: "wrong",
    faults: ["--smpp HOST is missing. A host."],
  });
  assert.deepEqual(readArguments(either, ["--simulator", "--smpp", "x"]), {
    outcome: "wrong",
    faults: ["--smpp cannot be combined with --simulator."],
  });
  assert.partialDeepStrictEqual(readArguments(either, ["--simulator"]), { outcome: "read" });
  assert.partialDeepStrictEqual(readArguments(either, ["--smpp", "x"]), { given: { smpp: "x" } });
});

test("arguments and options are read by their names, in any order", () => {
  const read = readArguments(sample, [
    "--account=A",
    "",
    "one",
    "--credits",
    "-5",
    "two",
    "--forward-to",
    "x",
    "--watch",
  ]);

  assert.deepEqual(read, {
    outcome: "read",
    given: {
      prefix: "",
      carriers: ["one", "two"],
      account: "A",
      credits: -5,
      forwardTo: "x",
      overlap: 24,
      watch: true,
      json: false,
      help: false,
    },
  });
});

test("everything wrong is reported at once, with the likely meaning", () => {
  const read = readArguments(sample, ["x", "--acount", "A", "--credits", "9", "--watch=yes"]);

  assert.deepEqual(read, {
    outcome: "wrong",
    faults: [
      "There is no option --acount; did you mean --account?",
      "--watch takes no value.",
      'PREFIX must be the first digits of a number, such as 49, or "" for all: not "x".',
      "CARRIER is missing. Names.",
      "--account ID is missing. An account.",
      '--credits must be a whole number from -5 to 5, not "9".',
    ],
  });
});

test("a negative number is read as the argument that it is meant for, and not as an option", () => {
  const charging = {
    ...sample,
    arguments: { credits: required("CREDITS", wholeNumber(-20, 5), "Credits.") },
    options: { watch: flag("Look.") },
  };

  assert.deepEqual(readArguments(charging, ["-21", "--watch"]), {
    outcome: "wrong",
    faults: ['CREDITS must be a whole number from -20 to 5, not "-21".'],
  });
  assert.partialDeepStrictEqual(readArguments(charging, ["-12"]), { given: { credits: -12 } });
});

test("an option that swallowed the next one is reported as lacking its value", () => {
  const read = readArguments(sample, ["49", "one", "--account", "--credits", "3"]);

  assert.deepEqual(read, { outcome: "wrong", faults: ["--account needs a value: --account ID."] });
});

test("an option given twice is refused unless it may be repeated", () => {
  const read = readArguments(sample, ["49", "one", "--account", "A", "--account", "B"]);

  assert.deepEqual(read, { outcome: "wrong", faults: ["--account is given twice."] });
});

test("a list where an option is to be repeated is told so", () => {
  const scope = several("SCOPE", oneOf(["send", "read"]), "Scopes.");
  const scoped = { ...sample, arguments: {}, options: { scope } };

  assert.deepEqual(readArguments(scoped, ["--scope", "send,read"]), {
    outcome: "wrong",
    faults: ['--scope must be one of send, read, not "send,read". Give --scope once for each.'],
  });
  assert.partialDeepStrictEqual(readArguments(scoped, ["--scope", "send", "--scope", "read"]), {
    given: { scope: ["send", "read"] },
  });
});

test("arguments after -- are taken as they are", () => {
  const read = readArguments(sample, ["--account", "A", "--", "49", "--watch"]);

  assert.ok(read.outcome === "read");
  assert.deepEqual(read.given["carriers"], ["--watch"]);
});

test("no command line makes the reader throw", () => {
  const word = fc.oneof(
    fc.constantFrom("--account", "--credits=1", "--", "-", "-h", "-xyz", "--=", "--watch"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (argv) => {
      const read = readArguments(sample, argv);
      assert.ok(read.outcome === "read" || read.faults.every((fault) => fault.length > 0));
    }),
  );
});
