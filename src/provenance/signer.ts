import {
  createPrivateKey,
  type KeyObject,
  constants,
  sign,
  webcrypto,
  X509Certificate,
} from "node:crypto";
import { readFile } from "node:fs/promises";
import { encode } from "cborg";
import { messageOf } from "../core/errors.js";

/** Who signs: a private key and the certificates that say whose it is, the signer's own first. */
export interface Signer {
  readonly key: KeyObject;
  /** C2PA's name of the algorithm. */
  readonly algorithm: keyof typeof ALGORITHMS;
  /** DER. */
  readonly chain: readonly Uint8Array[];
  readonly subject: string;
  readonly expiresAtMs: number;
  /** Bytes that a signature takes with its certificates. */
  readonly reserveSize: number;
}

/** Algorithms of C2PA 2.2 by their COSE numbers (RFC 9053), and how node:crypto signs so. */
const ALGORITHMS = {
  es256: { cose: -7, hash: "sha256" },
  es384: { cose: -35, hash: "sha384" },
  es512: { cose: -36, hash: "sha512" },
  ps256: { cose: -37, hash: "sha256" },
  ed25519: { cose: -8, hash: null },
} as const;

/** What the certificate may be for, of which C2PA wants one: documents, mail, C2PA's own claims. */
const USAGES = ["1.3.6.1.5.5.7.3.36", "1.3.6.1.5.5.7.3.4", "1.3.6.1.4.1.62558.2.1"];
const X5CHAIN = 33;

/** The settings that name the two files. */
interface SignerFiles {
  readonly keyPath: string;
  readonly certificatePath: string;
}

const KEY_SETTING = "PROVENANCE_KEY_FILE";
const CERTIFICATE_SETTING = "PROVENANCE_CERTIFICATE_FILE";

/** Reads key and certificates (PEM); refuses what no reader would accept, with the setting's name. */
export async function readSigner({ keyPath, certificatePath }: SignerFiles): Promise<Signer> {
  const [keyText, chainText] = await Promise.all([
    readText(KEY_SETTING, keyPath),
    readText(CERTIFICATE_SETTING, certificatePath),
  ]);
  const key = parse(KEY_SETTING, keyPath, () => createPrivateKey(keyText));
  const certificates = parse(CERTIFICATE_SETTING, certificatePath, () => readChain(chainText));
  return checkSigner(key, certificates, certificatePath);
}

async function readText(setting: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new Error(`${setting} ${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function parse<T>(setting: string, path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${setting} ${path} is not what it should be: ${messageOf(cause)}`, { cause });
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function readChain(text: string): X509Certificate[] {
  const found = [...text.matchAll(CERTIFICATE)].map(([pem]) => new X509Certificate(pem));
  if (found.length === 0) throw new Error("it holds no certificate in PEM");
  return found;
}

function checkSigner(
  key: KeyObject,
  certificates: readonly X509Certificate[],
  path: string,
): Signer {
  const refuse = (why: string): never => {
    throw new Error(`${CERTIFICATE_SETTING} ${path} ${why}`);
  };
  const [own] = certificates;
  if (own === undefined) return refuse("holds no certificate");
  if (!own.checkPrivateKey(key)) refuse(`is not the certificate of ${KEY_SETTING}`);
  if (own.ca) refuse("begins with an authority's certificate: the signer's own goes first");
  if (own.checkIssued(own)) refuse("is signed by itself: C2PA wants one that an authority signed");
  // Node has the purposes of a certificate there, and types them as always present.
  const usages: readonly string[] | undefined = own.keyUsage;
  if (!usages?.some((usage) => USAGES.includes(usage)))
    refuse(
      `is for ${usages?.join(", ") || "no purpose"}, and C2PA wants one of ${USAGES.join(", ")}`,
    );
  const expiresAtMs = Date.parse(own.validTo);
  if (Date.parse(own.validFrom) > Date.now()) refuse(`is not valid before ${own.validFrom}`);
  if (expiresAtMs <= Date.now()) refuse(`expired at ${own.validTo}`);
  const chain = certificates.map(({ raw }) => raw);
  const subject = own.subject.replaceAll("\n", ", ");
  const algorithm = algorithmOf(key) ?? refuse("has a key of no algorithm that C2PA knows");
  const signer = { key, algorithm, chain, subject, expiresAtMs };
  return { ...signer, reserveSize: signClaim(signer, new Uint8Array()).byteLength };
}

const CURVES: Readonly<Record<string, Signer["algorithm"]>> = {
  prime256v1: "es256",
  secp384r1: "es384",
  secp521r1: "es512",
};

function algorithmOf(key: KeyObject): Signer["algorithm"] | undefined {
  const { namedCurve = "" } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ec") return CURVES[namedCurve];
  if (key.asymmetricKeyType === "ed25519") return "ed25519";
  return key.asymmetricKeyType?.startsWith("rsa") ? "ps256" : undefined;
}

/**
 * COSE_Sign1 (RFC 9052) over a claim that is not in it, as C2PA has it: certificates in the protected
 * header.
 */
export function signClaim(
  signer: Omit<Signer, "reserveSize">,
  claim: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const { key, algorithm, chain } = signer;
  const { cose, hash } = ALGORITHMS[algorithm];
  const header = encode(
    new Map<number, unknown>([
      [1, cose],
      [X5CHAIN, chain],
    ]),
  );
  const message = encode(["Signature1", header, new Uint8Array(), claim]);
  const signature = sign(hash, message, {
    key,
    dsaEncoding: "ieee-p1363",
    ...(algorithm === "ps256" && {
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  });
  // C2PA's filling (`pad`) is empty: its bytes are not signed, and signatures of a key are equally long.
  const unprotected = new Map([["pad", new Uint8Array()]]);
  return Buffer.concat([SIGN1_TAG, encode([header, unprotected, null, signature])]);
}

/** CBOR's tag 18. */
const SIGN1_TAG = Buffer.from([0xd2]);

const YEAR_MS = 365 * 86_400_000;

/**
 * A key with a certificate of an authority that nobody knows, as one PEM text: media are marked and what
 * is changed is found out, but not who signed. For development.
 */
export async function makeDevelopmentSigner(): Promise<string> {
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto);
  const signingAlgorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const makeKeys = () => webcrypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
  const [rootKeys, keys] = [await makeKeys(), await makeKeys()];
  const valid = { notBefore: new Date(Date.now() - 3_600_000), signingAlgorithm };
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...valid,
    name: "CN=Framemill development authority, O=Framemill",
    notAfter: new Date(Date.now() + 10 * YEAR_MS),
    keys: rootKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(rootKeys.publicKey),
    ],
  });
  const own = await x509.X509CertificateGenerator.create({
    ...valid,
    subject: "CN=Framemill development, O=Framemill",
    issuer: root.subject,
    notAfter: new Date(Date.now() + 9 * YEAR_MS),
    publicKey: keys.publicKey,
    signingKey: rootKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([USAGES[1] ?? ""], true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(rootKeys.publicKey),
    ],
  });
  const key = x509.PemConverter.encode(
    await webcrypto.subtle.exportKey("pkcs8", keys.privateKey),
    "PRIVATE KEY",
  );
  return [key, own.toString("pem"), root.toString("pem"), ""].join("\n");
}
