import assert from "node:assert/strict";
import { test } from "node:test";

import { messageOf } from "#platform";
import { selfSigned } from "../../../test/support/certificates.ts";
import {
  describeSmppSettings,
  passwordFault,
  passwordWarnings,
  readSmppSettings,
} from "./read-settings.ts";
import { type Setting, smppSettings } from "./settings.ts";

const least = { host: "smsc.example", system_id: "user" };

function read(given: Record<string, unknown>) {
  const found = readSmppSettings({ ...least, ...given });
  assert.ok(found.outcome === "read", JSON.stringify(found));
  return found.settings;
}

function faults(given: Record<string, unknown>): Record<string, string> {
  const found = readSmppSettings({ ...least, ...given });
  if (found.outcome === "read") return {};
  return Object.fromEntries(found.faults.map(({ setting, message }) => [setting, message]));
}

test("a host and a system id are enough; the rest is as the reference says", () => {
  assert.partialDeepStrictEqual(read({}), {
    port: 2775,
    tls: false,
    tlsVerify: true,
    systemType: "",
    interfaceVersion: 0x34,
    addrTon: 0,
    addrNpi: 0,
    bind: "transceiver",
    binds: 1,
    window: 10,
    rate: 50,
    connectTimeoutMs: 10_000,
    bindTimeoutMs: 15_000,
    responseTimeoutMs: 30_000,
    unbindTimeoutMs: 5000,
    enquireLinkMs: 30_000,
    enquireLinkTimeoutMs: 10_000,
    reconnect: { fromMs: 1000, toMs: 60_000 },
    reconnectAlreadyBound: { fromMs: 30_000, toMs: 300_000 },
    reconnectRefused: { fromMs: 300_000, toMs: 1_800_000 },
    inDoubt: "resend",
    defaultSender: null,
    sourceTonNpi: null,
    destTonNpi: { ton: 1, npi: 1 },
    esmMode: 0,
    registeredDelivery: 1,
    alphabet: "gsm",
    gsmDataCoding: 0,
    ucs2DataCoding: 8,
    longMessages: "udh",
    validity: "relative",
    receiptId: { form: "exact", stripZeros: false, foldCase: false },
    receiptPer: "segment",
    receiptWindowMs: 604_800_000,
    parkedReceiptsMs: 604_800_000,
    maxPdu: 73_728,
    pduLog: "off",
  });
});

test("values given as text on a command line are read like values in JSON", () => {
  const asText = read({
    port: "3600",
    tls: "on",
    interface_version: "0x33",
    window: "100",
    response_timeout: "5m",
    reconnect: "500ms-2m",
    status_classes: '{"0x45":"temporary","0x401":{"class":"permanent","code":"BLOCKED"}}',
    receipt_id: "hex_to_decimal,strip_zeros",
    max_pdu: "128KiB",
  });

  assert.deepEqual(
    asText,
    read({
      port: 3600,
      tls: true,
      interface_version: 0x33,
      window: 100,
      response_timeout: "300s",
      reconnect: "0.5s - 120s",
      status_classes: {
        "0x45": { class: "temporary" },
        1025: { class: "permanent", code: "BLOCKED" },
      },
      receipt_id: "strip_zeros hex_to_decimal",
      max_pdu: 131_072,
    }),
  );
  assert.deepEqual(asText.statusClasses.get(0x45), { kind: "temporary", code: "EXPIRED" });
});

test("null stands for the default, as does an empty text where the default is none", () => {
  assert.deepEqual(read({ rate: null, tls: null, default_sender: "" }), read({}));
});

/** Values of settings, as given and as read. */
const values: [string, unknown, unknown][] = [
  ["rate", "0", 0],
  ["source_ton_npi", "5/0", { ton: 5, npi: 0 }],
  ["source_ton_npi", "0/255", { ton: 0, npi: 255 }],
  ["source_ton_npi", "auto", null],
  ["receipt_window", "1500ms", 1500],
  ["receipt_window", "1.5s", 1500],
  ["receipt_window", "2m", 120_000],
  ["receipt_window", "2 min", 120_000],
  ["receipt_window", "1h", 3_600_000],
  ["receipt_window", "7d", 604_800_000],
  ["reconnect", "5s", { fromMs: 5000, toMs: 5000 }],
  ["reconnect", "5s-5s", { fromMs: 5000, toMs: 5000 }],
  ["receipt_id", "fold_case", { form: "exact", stripZeros: false, foldCase: true }],
  [
    "receipt_id",
    "decimal_to_hex+strip_zeros",
    { form: "decimal_to_hex", stripZeros: true, foldCase: false },
  ],
  ["receipt_states", { failed: "undelivered" }, new Map([["FAILED", "undelivered"]])],
  [
    "status_classes",
    { 1: "permanent", "0xffffffff": { class: "permanent", code: "BLOCKED" } },
    new Map([
      [1, { kind: "permanent", code: "REJECTED_BY_CARRIER" }],
      [0xffffffff, { kind: "permanent", code: "BLOCKED" }],
    ]),
  ],
  ...[true, "", "on", "true", "yes", "1"].map((on): [string, unknown, unknown] => [
    "tls",
    on,
    true,
  ]),
  ...[false, "off", "false", "no", "0"].map((off): [string, unknown, unknown] => [
    "tls",
    off,
    false,
  ]),
];

for (const [name, given, expected] of values) {
  test(`${name} ${JSON.stringify(given)} is read as it is meant`, () => {
    const key = Object.entries<Setting>(smppSettings).find(([, each]) => each.name === name)?.[0];
    assert.deepEqual(read({ [name]: given })[key as keyof typeof smppSettings], expected);
  });
}

const OCTETS = [
  "interface_version",
  "addr_ton",
  "addr_npi",
  "protocol_id",
  "priority",
  "registered_delivery",
  "gsm_data_coding",
  "ucs2_data_coding",
];
const STRINGS = ["host", "system_id", "system_type", "address_range", "service_type"];
const TIME_LIMITS = [
  "connect_timeout",
  "bind_timeout",
  "response_timeout",
  "unbind_timeout",
  "enquire_link_timeout",
];
const WAITS = ["reconnect", "reconnect_already_bound", "reconnect_refused"];

/** Settings, the least and the most that they take, and what is just beyond. */
const bounds: [string[], unknown[], unknown[]][] = [
  [["port"], [1, 65_535], [0, 65_536, 1.5]],
  [["binds"], [1, 1000], [0, 1001]],
  [["window"], [1, 10_000], [0, 10_001]],
  [["rate"], [0, 1_000_000], [-1, 1_000_001, "", " "]],
  [["esm_mode"], [0, 3], [-1, 4]],
  [OCTETS, [0, 255], [-1, 256]],
  [
    ["source_ton_npi", "dest_ton_npi"],
    ["0/0", "255/255"],
    ["256/0", "0/256", "1/1/1"],
  ],
  [TIME_LIMITS, ["10ms", "1h"], ["9ms", "3601s"]],
  [["enquire_link"], ["100ms", "1h"], ["99ms", "3601s"]],
  [WAITS, ["10ms", "1d", "10ms-1d"], ["9ms", "25h", "1s-2s-3s"]],
  [
    ["receipt_window", "parked_receipts"],
    ["1s", "365d"],
    ["999ms", "366d"],
  ],
  [["max_pdu"], [1024, "1KiB", "16384KiB"], [1023, 16 * 1024 * 1024 + 1]],
  [STRINGS, ["x".repeat(255)], ["x".repeat(256), ["x"]]],
  [["status_classes"], ["{}"], [["x"], "{", { 0: "temporary" }, { "0x100000000": "temporary" }]],
  [["status_classes"], [], [{ 1: { class: "temporary", kode: "BLOCKED" } }]],
  [["error_codes"], [{ "1": "BLOCKED" }], [{ "1": "constructor" }, ["BLOCKED"]]],
];

for (const [names, right, wrong] of bounds) {
  test(`${names.join(", ")}: what is within the bounds is taken, and nothing beyond`, () => {
    for (const name of names) {
      for (const value of right) assert.deepEqual(faults({ [name]: value }), {});
      for (const value of wrong) {
        const found = Object.keys(faults({ [name]: value }));
        assert.deepEqual(found, [name], `${name} ${JSON.stringify(value)}`);
      }
    }
  });
}

test("every wrong setting is named at once, with what would be right", () => {
  const found = faults({
    host: "",
    port: 0,
    bind: "both",
    window: "many",
    response_timeout: 30,
    reconnect: "60s-1s",
    in_doubt: "guess",
    status_classes: '{"x":"temporary"}',
    error_codes: { "011": "WRONG_NUMBER" },
    receipt_id: "hex_to_decimal decimal_to_hex",
    source_ton_npi: "5",
    windw: 10,
  });

  assert.deepEqual(Object.keys(found).toSorted(), [
    "bind",
    "error_codes",
    "host",
    "in_doubt",
    "port",
    "receipt_id",
    "reconnect",
    "response_timeout",
    "source_ton_npi",
    "status_classes",
    "window",
    "windw",
  ]);
  assert.equal(found["response_timeout"], "must be a duration such as 30s, 5m or 7d");
});

test("the default sender must be one that a message could have", () => {
  for (const default_sender of ["ABCDEFGHIJKLMNOP", "Büro", "12", "+12", "0151234567890"]) {
    assert.deepEqual(Object.keys(faults({ default_sender })), ["default_sender"]);
  }
  assert.equal(read({ default_sender: "+4915199999" }).defaultSender, "4915199999");
  assert.equal(read({ default_sender: 12_345 }).defaultSender, "12345");
});

test("settings that contradict each other are refused by name", () => {
  const { cert, key } = selfSigned(["smsc.example"]);

  assert.deepEqual(Object.keys(faults({ tls_ca: cert })), ["tls_ca"]);
  assert.deepEqual(Object.keys(faults({ tls_verify: "off" })), ["tls_verify"]);
  assert.deepEqual(faults({ tls: true, tls_cert: cert }), {
    tls_key: "is missing: the certificate needs its private key beside it",
  });
  assert.deepEqual(faults({ tls: true, tls_key: key }), {
    tls_cert: "is missing: the private key needs its certificate beside it",
  });
  assert.deepEqual(faults({ tls: true, tls_cert: cert, tls_key: key, tls_ca: cert }), {});
  const other = selfSigned(["smsc.example"]);
  assert.deepEqual(faults({ tls: true, tls_cert: other.cert, tls_key: key }), {
    tls_cert: "is not the certificate of the private key beside it",
  });
  const unused = { tls_cert: cert, tls_key: key, tls_server_name: "smsc.example" };
  assert.deepEqual(Object.keys(faults(unused)), Object.keys(unused));
});

test("the recipient's type of number is not left to choose: all have one form", () => {
  assert.deepEqual(Object.keys(faults({ dest_ton_npi: "auto" })), ["dest_ton_npi"]);
});

test("an unreadable certificate is found when it is set, not when it is used", () => {
  const broken = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----";

  assert.deepEqual(Object.keys(faults({ tls: true, tls_ca: broken })), ["tls_ca"]);
  assert.deepEqual(Object.keys(faults({ tls: true, tls_ca: "ca.pem" })), ["tls_ca"]);
  const bundle = `${selfSigned(["smsc.example"]).cert}\n${broken}`;
  assert.deepEqual(Object.keys(faults({ tls: true, tls_ca: bundle })), ["tls_ca"]);
});

test("a field longer than the protocol allows warns and is kept whole", () => {
  const found = readSmppSettings({
    ...least,
    system_id: "u".repeat(16),
    system_type: "t".repeat(13),
    address_range: "r".repeat(41),
    service_type: "s".repeat(6),
  });

  assert.ok(found.outcome === "read");
  assert.equal(found.settings.systemId.length, 16);
  assert.deepEqual(
    found.warnings.map((warning) => warning.split(" ")[0]),
    ["system_id", "system_type", "address_range", "service_type"],
  );
  const longest = readSmppSettings({
    ...least,
    system_id: "u".repeat(15),
    system_type: "t".repeat(12),
    address_range: "r".repeat(40),
    service_type: "s".repeat(5),
  });
  assert.ok(longest.outcome === "read");
  assert.deepEqual(longest.warnings, []);
  assert.equal(passwordWarnings("p".repeat(9)).length, 1);
  assert.equal(passwordWarnings("p".repeat(8)).length, 0);
});

test("a password that is empty, as of a variable that nobody set, is accepted with a warning", () => {
  assert.equal(passwordFault(""), undefined);
  assert.deepEqual(passwordWarnings(""), ["password is empty; few carriers accept that."]);
});

test("a password that a NUL would cut short, that the wire cannot carry or that is far too long is refused", () => {
  assert.equal(passwordFault("pässword"), undefined);
  assert.match(passwordFault("a\0b") ?? "", /cannot carry/);
  assert.match(passwordFault("漢") ?? "", /cannot carry/);
  assert.equal(passwordFault("p".repeat(255)), undefined);
  assert.match(passwordFault("p".repeat(256)) ?? "", /at most 255/);
});

test("every setting is described, under a name that a command line can take", () => {
  const described = describeSmppSettings();

  assert.ok(described.every(({ meaning, name }) => meaning !== "" && /^[a-z0-9_]+$/.test(name)));
  assert.partialDeepStrictEqual(
    described.find(({ name }) => name === "response_timeout"),
    { fallback: "30s", kind: "value", isRequired: false },
  );
  const printed = Object.fromEntries(described.map(({ name, fallback }) => [name, fallback]));
  assert.partialDeepStrictEqual(printed, { tls: "off", tls_verify: "on", window: "10" });
  assert.deepEqual(
    described.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    ["host", "system_id"],
  );
});

test("a setting's form or meaning names every word it takes; error codes have a page of their own", () => {
  for (const { name, parse, meaning } of Object.values<Setting>(smppSettings)) {
    if (name === "error_codes") continue;
    const words = ["?", { 1: "?" }].flatMap((wrong) => wordsTaken(() => parse(wrong)));
    const told = `${parse.form} ${meaning}`;
    const unnamed = words.filter((word) => !new RegExp(`\\b${word}\\b`).test(told));
    assert.deepEqual(unnamed, [], name);
  }
});

/** The accepted words, as the refusal names them. */
function wordsTaken(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    return /must be one of (.*)$/.exec(messageOf(error))?.[1]?.split(", ") ?? [];
  }
}
