import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readVectors } from "./webhook-vectors.ts";

const docs = new URL("../docs/", import.meta.url);
const vectors = readVectors();
const delivered = vectors.valid.find(({ secrets }) => secrets.length === 2);
const withDecodedKey = vectors.invalid.find(({ headers }) => !("webhook-signature" in headers));
assert.ok(delivered && withDecodedKey);
const [secret = "", previousSecret = ""] = delivered.secrets;
const otherSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/**
 * For each language its sample, and a minimal program that reads cases from standard input and
 * writes one verdict for each. Samples run only if their interpreter is installed.
 */
type Language = {
  sample: string;
  file: string;
  command: string[];
  isInstalled: string[];
  runner: { file: string; source: string };
  /** Changes the sample as needed to run here. */
  adapt?: (source: string) => string;
};

const languages: Record<string, Language> = {
  node: {
    sample: "verify-webhook.mjs",
    file: "sample.mjs",
    isInstalled: [process.execPath, "--version"],
    command: [process.execPath, "runner.mjs"],
    runner: {
      file: "runner.mjs",
      source: `
import { readFileSync } from "node:fs";
import { verifyBody, verifyWebhook } from "./sample.mjs";
const verdicts = JSON.parse(readFileSync(0, "utf8")).map(({ body, headers, way, signature, secret }) => {
  const raw = Buffer.from(body, "base64");
  return way === "headers" ? verifyWebhook(raw, headers, secret) : verifyBody(raw, signature ?? undefined, secret);
});
console.log(JSON.stringify(verdicts));`,
    },
  },
  python: {
    sample: "verify_webhook.py",
    file: "sample.py",
    isInstalled: ["python3", "--version"],
    command: ["python3", "runner.py"],
    runner: {
      file: "runner.py",
      source: `
import base64, json, sys
from sample import verify_body, verify_webhook
def verdict(case):
    raw, secret = base64.b64decode(case["body"]), case["secret"]
    if case["way"] == "headers":
        return verify_webhook(raw, case["headers"], secret)
    return verify_body(raw, case["signature"], secret)
print(json.dumps([verdict(case) for case in json.load(sys.stdin)]))`,
    },
  },
  php: {
    sample: "verify_webhook.php",
    file: "sample.php",
    isInstalled: ["php", "--version"],
    command: ["php", "runner.php"],
    runner: {
      file: "runner.php",
      source: `<?php
require 'sample.php';
echo json_encode(array_map(function ($case) {
    $raw = base64_decode($case['body']);
    return $case['way'] === 'headers'
        ? verify_webhook($raw, $case['headers'], $case['secret'])
        : verify_body($raw, $case['signature'], $case['secret']);
}, json_decode(file_get_contents('php://stdin'), true)));`,
    },
  },
  ruby: {
    sample: "verify_webhook.rb",
    file: "sample.rb",
    isInstalled: ["ruby", "-ropenssl", "-rjson", "--version"],
    command: ["ruby", "runner.rb"],
    runner: {
      file: "runner.rb",
      source: `
require "json"
require_relative "sample"
verdicts = JSON.parse($stdin.read).map do |c|
  raw = c["body"].unpack1("m")
  c["way"] == "headers" ? verify_webhook(raw, c["headers"], c["secret"]) : verify_body(raw, c["signature"], c["secret"])
end
puts JSON.generate(verdicts)`,
    },
  },
  go: {
    sample: "verify_webhook.go",
    file: "sample.go",
    isInstalled: ["go", "version"],
    command: ["go", "run", "sample.go", "runner.go"],
    adapt: (source) => source.replace("package posthorn", "package main"),
    runner: {
      file: "runner.go",
      source: `package main
import ("encoding/json"; "net/http"; "os")
func main() {
	var cases []struct { Body []byte; Headers map[string]string; Way, Signature, Secret string }
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil { panic(err) }
	verdicts := []bool{}
	for _, c := range cases {
		headers := http.Header{}
		for name, value := range c.Headers { headers.Set(name, value) }
		if c.Way == "headers" {
			verdicts = append(verdicts, VerifyWebhook(c.Body, headers, c.Secret))
		} else {
			verdicts = append(verdicts, VerifyBody(c.Body, c.Signature, c.Secret))
		}
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}`,
    },
  },
};

type Case = {
  name: string;
  verified: boolean;
  /** Base64, so that every language gets the same bytes. */
  body: string;
  headers: Record<string, string>;
  /** Whether the sample verifies all headers, or X-SMS-Signature alone. */
  way: "headers" | "signature";
  signature: string | null;
  secret: string;
};

const SIGNED_BODY = delivered.body;
const EVENT_ID = delivered.headers["webhook-id"] ?? "";

function delivery(change: Partial<Case> & { at?: number; signedBody?: string } = {}): Case {
  const { body = SIGNED_BODY, at = secondsAgo(0), signedBody = body, ...rest } = change;
  const id = EVENT_ID;
  const signatures = [secret, previousSecret].map((each) => {
    const key = Buffer.from(each.slice("whsec_".length), "base64");
    const hmac = createHmac("sha256", key).update(`${id}.${at}.${signedBody}`);
    return `v1,${hmac.digest("base64")}`;
  });
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": signatures.join(" "),
  };
  const inBase64 = Buffer.from(body).toString("base64");
  const way = "signature" in change ? "signature" : "headers";
  const made = { name: "", verified: false, headers, way, signature: null, secret } as const;
  return { ...made, body: inBase64, ...rest };
}

function secondsAgo(seconds: number): number {
  return Math.floor(Date.now() / 1000) - seconds;
}

const good = delivered.headers["X-SMS-Signature"] ?? "";
const previous = delivered.headers["X-SMS-Signature-Previous"] ?? "";
const byDecodedKey = withDecodedKey.headers["X-SMS-Signature"] ?? "";
const changed = delivered.body.replace("DELIVERED", "DELIVEREd");

/** Made anew for each sample: what was fresh for the first may be too old for the last. */
function cases(): Case[] {
  const headersNow = delivery().headers;
  return [
    delivery({ name: "fresh", verified: true }),
    delivery({ name: "fresh, previous secret", verified: true, secret: previousSecret }),
    delivery({ name: "fresh, text beyond ASCII", verified: true, body: '{"text":"Grüße 😀"}' }),
    delivery({ name: "four minutes ago", verified: true, at: secondsAgo(240) }),
    delivery({ name: "six minutes ago", at: secondsAgo(360) }),
    delivery({ name: "six minutes ahead", at: secondsAgo(-360) }),
    delivery({ name: "one octet changed", body: changed, signedBody: SIGNED_BODY }),
    delivery({ name: "another secret", secret: otherSecret }),
    delivery({ name: "no headers", headers: {} }),
    delivery({ name: "no signature", headers: { ...headersNow, "webhook-signature": "" } }),
    delivery({ name: "no id", headers: { ...headersNow, "webhook-id": "" } }),
    delivery({ name: "no number", headers: { ...headersNow, "webhook-timestamp": "now" } }),
    delivery({
      name: "a long number",
      headers: { ...headersNow, "webhook-timestamp": "9".repeat(5000) },
    }),
    delivery({ name: "the vector's signature", verified: true, signature: good }),
    delivery({
      name: "the previous signature, previous secret",
      verified: true,
      signature: previous,
      secret: previousSecret,
    }),
    delivery({ name: "a changed body", body: changed, signature: good }),
    delivery({ name: "the decoded key", signature: byDecodedKey }),
    delivery({ name: "an empty signature", signature: "" }),
    delivery({ name: "signature absent", signature: null }),
    delivery({ name: "half a signature", signature: good.slice(0, 32) }),
  ];
}

for (const [name, language] of Object.entries(languages)) {
  test(`the guide leads to the ${name} sample`, () => {
    const guide = readFileSync(new URL("verify-webhooks.md", docs), "utf8");
    assert.ok(guide.includes(`](samples/${language.sample})`));
  });

  const [program = "", ...args] = language.isInstalled;
  if (spawnSync(program, args).status !== 0) continue;
  test(`the ${name} sample accepts what is signed and recent, and nothing else`, () => {
    const tried = cases();

    const verdicts = run(language, tried);

    assert.deepEqual(
      tried.map(({ name }, n) => [name, verdicts[n]]),
      tried.map(({ name, verified }) => [name, verified]),
    );
  });
}

function run(
  { sample, file, runner, command, adapt = (source) => source }: Language,
  tried: Case[],
): boolean[] {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-sample-"));
  try {
    const source = readFileSync(new URL(`samples/${sample}`, docs), "utf8");
    writeFileSync(join(folder, file), adapt(source));
    writeFileSync(join(folder, runner.file), runner.source);
    const [program = "", ...args] = command;
    const input = JSON.stringify(tried);
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: folder,
      input,
      timeout: 120_000,
    });
    assert.equal(status, 0, stderr.toString());
    return JSON.parse(stdout.toString()) as boolean[];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
