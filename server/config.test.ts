import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { fileWithSecrets, readConfig, WrongSettings } from "./config.ts";
import { describeSettings, settings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "posthorn-config-"));
after(() => rmSync(folder, { recursive: true }));
const read = (given: Record<string, string>) => readConfig(given, folder);
const faultsOf = (given: Record<string, string>, where = folder): string[] => {
  try {
    readConfig(given, where);
    return [];
  } catch (error) {
    assert.ok(error instanceof WrongSettings);
    const [title, ...faults] = error.message.split("\n  ");
    assert.equal(title, "Wrong settings:");
    return faults;
  }
};

test("with nothing given, every setting has its default", () => {
  const config = read({});

  assert.partialDeepStrictEqual(config, {
    host: "127.0.0.1",
    port: 8080,
    databaseUrl: undefined,
    publicUrl: undefined,
    secretKey: undefined,
    webhookAllowCidrs: undefined,
    webhookAllowHttp: undefined,
    webhookShowPrivateAnswers: undefined,
    rateLimitSends: 100,
    rateLimitSendsBurst: 1_000,
    rateLimitReads: 100,
    rateLimitReadsBurst: 200,
    rateLimitFailedAuth: 20,
    bodyLimit: 1_048_576,
    logLevel: "info",
  });
  assert.deepEqual([...config.roles], ["api", "sender", "webhooks", "dashboard"]);
  assert.match(config.dataDir, /[/\\]data$/);
});

test("values in the environment are read as what they mean: lists, ranges, roles, yes or no", () => {
  const key = Buffer.alloc(32, 3).toString("base64");
  const config = read({
    HOST: "0.0.0.0",
    PORT: "0",
    DATABASE_URL: "postgres://u:p@one:5432,two:5433/posthorn?sslmode=require",
    PUBLIC_URL: "https://sms.example.com/",
    SECRET_KEY: key,
    ROLES: "api, sender",
    WEBHOOK_ALLOW_CIDRS: "10.0.0.0/8, ::1",
    WEBHOOK_ALLOW_HTTP: "false",
    WEBHOOK_SHOW_PRIVATE_ANSWERS: "true",
  });

  assert.equal(
    config.databaseUrl?.reveal(),
    "postgres://u:p@one:5432,two:5433/posthorn?sslmode=require",
  );
  assert.equal(config.publicUrl, "https://sms.example.com");
  assert.equal(config.secretKey?.reveal(), key);
  assert.deepEqual([...config.roles], ["api", "sender"]);
  assert.deepEqual(config.webhookAllowCidrs, ["10.0.0.0/8", "::1/128"]);
  assert.equal(config.webhookAllowHttp, false);
  assert.equal(config.webhookShowPrivateAnswers, true);
});

test("WEBHOOK_ALLOW_CIDRS set to nothing allows nothing, unlike leaving it out", () => {
  assert.deepEqual(read({ WEBHOOK_ALLOW_CIDRS: "" }).webhookAllowCidrs, []);
});

test("a database password may hold a literal %, as the driver takes it", () => {
  const url = "postgres://u:50%off@host/posthorn";

  assert.equal(read({ DATABASE_URL: url }).databaseUrl?.reveal(), url);
});

test("every wrong setting is named at once, with what it must be", () => {
  const faults = faultsOf({
    PORT: "65536",
    HOST: " ",
    DATABASE_URL: "mysql://x",
    PUBLIC_URL: "sms.example.com",
    SECRET_KEY: "short",
    ROLES: "api,cook",
    WEBHOOK_ALLOW_CIDRS: "10.0.0.0/8,10.0.0.0/33",
    WEBHOOK_ALLOW_HTTP: "yes",
    WEBHOOK_SHOW_PRIVATE_ANSWERS: "1",
    RATE_LIMIT_SENDS: "0",
    RATE_LIMIT_READS: "-1",
    RATE_LIMIT_FAILED_AUTH: "1.5",
    BODY_LIMIT: "1",
    LOG_LEVEL: "loud",
  });

  assert.deepEqual(
    faults.map((fault) => fault.split(":", 1)[0]),
    [
      "HOST",
      "PORT",
      "DATABASE_URL",
      "PUBLIC_URL",
      "SECRET_KEY",
      "ROLES",
      "WEBHOOK_ALLOW_CIDRS",
      "WEBHOOK_ALLOW_HTTP",
      "WEBHOOK_SHOW_PRIVATE_ANSWERS",
      "RATE_LIMIT_SENDS",
      "RATE_LIMIT_READS",
      "RATE_LIMIT_FAILED_AUTH",
      "BODY_LIMIT",
      "LOG_LEVEL",
    ],
  );
  assert.equal(faults[1], 'PORT: must be a whole number from 0 to 65535, not "65536".');
  assert.doesNotMatch(faults.join(), /short/, "a wrong secret is not repeated");
});

test("a password in PUBLIC_URL is refused, and not repeated", () => {
  const faults = faultsOf({ PUBLIC_URL: "https://ada:hunter2@sms.example.com" });

  assert.deepEqual(faults, ["PUBLIC_URL: must be an address without a user name or password."]);
});

test("PUBLIC_URL is the root of a host, because nothing is served below a path", () => {
  for (const value of ["https://a.example/sms", "https://me@a.example", "https://a.example/?a"]) {
    assert.equal(faultsOf({ PUBLIC_URL: value }).length, 1, value);
  }
  assert.equal(read({ PUBLIC_URL: "https://A.example:8443/" }).publicUrl, "https://a.example:8443");
});

test("HOST is an address or a name, without a scheme, a port or blanks", () => {
  for (const value of ["http://127.0.0.1", "127.0.0.1:80", "not a host!", "-a", "a-"]) {
    assert.equal(faultsOf({ HOST: value }).length, 1, value);
  }
  for (const value of ["::1", "0.0.0.0", "localhost", "sms.example.com"]) {
    assert.equal(read({ HOST: value }).host, value);
  }
});

test("an address range is an address with at most its own number of bits", () => {
  for (const value of [
    "10.0.0.0/8/9",
    "10.0.0.0/",
    "10.0.0/8",
    "10.0.0.0/-1",
    "::1/129",
    "localhost",
  ]) {
    assert.equal(faultsOf({ WEBHOOK_ALLOW_CIDRS: value }).length, 1, value);
  }
});

test("a range that opens no loopback, private or CGNAT address to webhooks is reported", () => {
  const right =
    "127.0.0.0/8,::1,10.1.0.0/16,172.16.0.0/12,192.168.1.5,100.64.0.0/10,fd12::/32,fc00::/7,0.0.0.0/0,::/0,10.0.0.0/7";
  const wrong = [
    "8.8.8.0/24",
    "172.0.0.0/12",
    "169.254.0.0/16",
    "fe80::/10",
    "::ffff:10.0.0.0/104",
    "2001:db8::/32",
    "fd00:ec2::254/128",
    "100.100.100.200/32",
  ];

  assert.deepEqual(faultsOf({ WEBHOOK_ALLOW_CIDRS: right }), []);
  const [fault = "", ...more] = faultsOf({ WEBHOOK_ALLOW_CIDRS: `${right},${wrong.join()}` });
  assert.deepEqual(more, []);
  assert.ok(fault.endsWith(`, not ${wrong.join(", ")}.`), fault);
});

test("if several ranges are wrong every one is named, whatever is wrong with it", () => {
  const [fault = "", ...more] = faultsOf({
    WEBHOOK_ALLOW_CIDRS: "10.0.0.0/33,10.0.0.0/8,8.8.8.0/24,localhost",
  });

  assert.deepEqual(more, []);
  assert.match(fault, /"10\.0\.0\.0\/33" is not.*"localhost" is not.*, not 8\.8\.8\.0\/24\.$/);
});

test("posthorn.toml is for its owner's eyes only if it holds a secret", () => {
  const own = mkdtempSync(join(folder, "own-"));
  const path = join(own, "posthorn.toml");
  const found = ["port = 8081", `secret_key = "${Buffer.alloc(32, 3).toString("base64")}"`].map(
    (line) => {
      writeFileSync(path, line);
      return fileWithSecrets(readConfig({}, own), own);
    },
  );

  assert.deepEqual([fileWithSecrets(read({}), folder), ...found], [undefined, undefined, path]);
});

test("posthorn.toml gives what the environment does not, and unknown names in it are faults", () => {
  const own = mkdtempSync(join(folder, "toml-"));
  writeFileSync(
    join(own, "posthorn.toml"),
    'port = 9000\nroles = ["api", "sender"]\nwebhook_allow_http = true\nhost = "::1"\n',
  );
  const config = readConfig({ HOST: "127.0.0.2" }, own);
  assert.partialDeepStrictEqual(config, { port: 9000, host: "127.0.0.2", webhookAllowHttp: true });
  assert.deepEqual([...config.roles], ["api", "sender"]);

  writeFileSync(join(own, "posthorn.toml"), 'prot = 1\nHOST = "::1"\nsmtp = 1\nport = "x"\n');
  const faults = faultsOf({}, own);
  assert.equal(faults.length, 4);
  assert.match(faults[0] ?? "", /there is no setting prot; did you mean port\?$/);
  assert.match(faults[1] ?? "", /there is no setting HOST; did you mean host\?$/);
  assert.match(faults[2] ?? "", /there is no setting smtp; the settings are host, port, /);
  writeFileSync(join(own, "posthorn.toml"), "port = = 1");
  assert.match(faultsOf({}, own)[0] ?? "", /^posthorn\.toml: /);
});

test("a printed configuration shows no secret", () => {
  const config = read({
    SECRET_KEY: Buffer.alloc(32, 3).toString("base64"),
    DATABASE_URL: "postgres://u:hunter2@host/db",
  });

  const printed = inspect(config) + JSON.stringify(config);
  assert.doesNotMatch(printed, /hunter2|AwMD/);
});

test("every setting is described: its name, its fallback, its meaning", () => {
  const described = describeSettings();

  assert.equal(described.length, Object.keys(settings).length);
  for (const { name, fallback, meaning } of described) {
    assert.match(name, /^[A-Z][A-Z_]+$/);
    assert.notEqual(fallback, "");
    assert.match(meaning, /\.$/);
  }
});

test("whatever the environment holds, settings are read or named as wrong", () => {
  const names = Object.values(settings).map(({ name }) => name);
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), fc.string()), (given) => {
      for (const fault of faultsOf(given)) {
        assert.ok(Object.hasOwn(given, fault.split(":", 1)[0] ?? ""), fault);
      }
    }),
    { numRuns: 300 },
  );
});

test("keeping messages for less time than they may be under way is refused", () => {
  assert.throws(
    () => read({ RETENTION_MESSAGES_DAYS: "30" }),
    /RETENTION_MESSAGES_DAYS: must be 0, .* or at least 45/,
  );
  assert.equal(read({ RETENTION_MESSAGES_DAYS: "45" }).retentionMessagesDays, 45);
  assert.equal(read({}).retentionMessagesDays, 0);
});

test("settings of traces and metrics are read, and named if they are wrong", () => {
  const right = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318/",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc",
    OTEL_TRACES_SAMPLER_ARG: "0.25",
    METRICS_LISTEN: "[::1]:9464",
  });

  assert.equal(right.tracesEndpoint, "http://127.0.0.1:4318");
  assert.equal(right.tracesShare, 0.25);
  assert.deepEqual(right.metricsListen, { host: "::1", port: 9464 });
  assert.throws(
    () =>
      read({
        OTEL_EXPORTER_OTLP_ENDPOINT: "4318",
        OTEL_EXPORTER_OTLP_HEADERS: "a=%zz",
        OTEL_TRACES_SAMPLER_ARG: "2",
        METRICS_LISTEN: "9464",
      }),
    /METRICS_LISTEN: .*\n.*ENDPOINT: .*\n.*HEADERS: .*\n.*SAMPLER_ARG: /,
  );
  // This header would be dropped when sent, because the "=" is part of its name.
  assert.throws(() => read({ OTEL_EXPORTER_OTLP_HEADERS: "a%3Db" }), /HEADERS: must be name=value/);
});
