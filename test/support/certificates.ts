import {
  createPrivateKey,
  createPublicKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { isIP } from "node:net";

/** A certificate and its key in PEM, as `tls.createServer` takes them. */
export type Identity = { cert: string; key: string };

export type Authority = {
  cert: string;
  issue(request: IdentityRequest): Identity;
};

type IdentityRequest = { names: string[]; notBefore?: Date; notAfter?: Date; isRsa?: boolean };

const DAY_MS = 86_400_000;

/** A certificate authority for tests: it exists in memory, and nobody else trusts it. */
export function makeAuthority(name = "Test authority"): Authority {
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = { name, key: authority.privateKey };
  const cert = certificate({
    subject: name,
    publicKey: authority.publicKey,
    issuer,
    isAuthority: true,
  });
  return {
    cert,
    issue(request) {
      const { publicKey, privateKey } =
        request.isRsa === true
          ? generateKeyPairSync("rsa", { modulusLength: 2048 })
          : generateKeyPairSync("ec", { namedCurve: "P-256" });
      const leaf = certificate({
        subject: request.names[0] ?? "nobody",
        publicKey,
        issuer,
        ...request,
      });
      return { cert: leaf, key: privatePem(privateKey) };
    },
  };
}

export function selfSigned(names: string[]): Identity {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const subject = names[0] ?? "nobody";
  const issuer = { name: subject, key: privateKey };
  return { cert: certificate({ subject, publicKey, issuer, names }), key: privatePem(privateKey) };
}

/** A chain that nobody trusts, and that takes a second of work to verify. */
export function slowToVerify(): Identity {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 3072 });
  const { e = "", d = "", ...rest } = privateKey.export({ format: "jwk" });
  // Swapping the exponents makes the public one the long one.
  const key = createPrivateKey({ key: { ...rest, e: d, d: e, dp: e, dq: e }, format: "jwk" });
  const links = Array.from({ length: 20 }, (_, n) =>
    certificate({
      subject: `link ${n}`,
      publicKey: createPublicKey(key),
      issuer: { name: `link ${n + 1}`, key },
      isAuthority: n > 0,
    }),
  );
  return { cert: links.join(""), key: privatePem(key) };
}

type CertificateRequest = {
  subject: string;
  publicKey: KeyObject;
  issuer: { name: string; key: KeyObject };
  names?: string[];
  isAuthority?: boolean;
  notBefore?: Date;
  notAfter?: Date;
};

/** Makes an X.509 version 3 certificate, signed with SHA-256. */
function certificate(request: CertificateRequest): string {
  const now = Date.now();
  const { notBefore = new Date(now - DAY_MS), notAfter = new Date(now + DAY_MS) } = request;
  const extensions =
    request.isAuthority === true ? [basicConstraints()] : [alternativeNames(request.names ?? [])];
  const algorithm = request.issuer.key.asymmetricKeyType === "rsa" ? RSA_SHA256 : ECDSA_SHA256;
  const body = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    commonName(request.issuer.name),
    sequence(time(notBefore), time(notAfter)),
    commonName(request.subject),
    request.publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = createSign("sha256").update(body).sign(request.issuer.key);
  const der = sequence(body, algorithm, bitString(signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function privatePem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" });
}

function basicConstraints(): Buffer {
  return sequence(
    oid("551d13"),
    tagged(0x01, Buffer.of(0xff)),
    octets(sequence(tagged(0x01, Buffer.of(0xff)))),
  );
}

function alternativeNames(names: string[]): Buffer {
  const entries = names.map((name) =>
    isIP(name) === 4
      ? tagged(0x87, Buffer.from(name.split(".").map(Number)))
      : tagged(0x82, Buffer.from(name)),
  );
  return sequence(oid("551d11"), octets(sequence(...entries)));
}

function commonName(name: string): Buffer {
  return sequence(tagged(0x31, sequence(oid("550403"), tagged(0x0c, Buffer.from(name)))));
}

function time(at: Date): Buffer {
  return tagged(0x18, Buffer.from(`${at.toISOString().replaceAll(/[-:T]|\.\d+Z/g, "")}Z`));
}

function integer(value: Buffer): Buffer {
  return tagged(0x02, value);
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

function octets(value: Buffer): Buffer {
  return tagged(0x04, value);
}

function bitString(value: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.of(0), value]));
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function tagged(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const size = length < 128 ? Buffer.of(length) : Buffer.of(0x82, length >> 8, length & 255);
  return Buffer.concat([Buffer.of(tag), size, value]);
}

const ECDSA_SHA256 = sequence(oid("2a8648ce3d040302"));
const RSA_SHA256 = sequence(oid("2a864886f70d01010b"), tagged(0x05, Buffer.alloc(0)));
