// What the image holds, as CycloneDX on standard output: the npm packages that npm's own record of
// ./node_modules names and that are still there, Debian's packages, Node.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

/** `integrity` is `sha512-` and base64. */
function hashesOf(integrity = "") {
  const [, base64] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (base64 === undefined) return {};
  return { hashes: [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }] };
}

function npmPackages() {
  const { packages } = readJson("node_modules/.package-lock.json");
  return Object.entries(packages)
    .filter(([path]) => existsSync(path))
    .map(([path, { version, license, integrity }]) => ({
      type: "library",
      "bom-ref": path,
      name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      version,
      purl: `pkg:npm/${path.split("node_modules/").at(-1).replace("@", "%40")}@${version}`,
      ...(license && { licenses: [{ expression: license }] }),
      ...hashesOf(integrity),
    }));
}

/** What scripts/carry-runtime.mjs took from onnxruntime-node; fronts have none. */
function carriedRuntime() {
  const path = "dist/node_modules/onnxruntime-node/package.json";
  if (!existsSync(path)) return [];
  const { name, version, license } = readJson(path);
  const purl = `pkg:npm/${name}@${version}`;
  return [
    { type: "library", "bom-ref": path, name, version, purl, licenses: [{ expression: license }] },
  ];
}

function debianPackages() {
  const format = "${db:Status-Abbrev}\\t${Package}\\t${Version}\\t${Architecture}\\n";
  return execFileSync("dpkg-query", ["--show", `--showformat=${format}`], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.startsWith("ii"))
    .map((line) => {
      const [, name, version, architecture] = line.split("\t");
      const purl = `pkg:deb/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
      return { type: "library", "bom-ref": purl, name, version, purl };
    });
}

const { name, version } = readJson("package.json");
const node = process.versions.node;
const components = [
  { type: "application", "bom-ref": `node@${node}`, name: "node", version: node },
  ...npmPackages(),
  ...carriedRuntime(),
  ...debianPackages(),
];
const metadata = { component: { type: "application", "bom-ref": name, name, version } };
const sbom = { bomFormat: "CycloneDX", specVersion: "1.6", version: 1, metadata, components };
process.stdout.write(`${JSON.stringify(sbom, null, 1)}\n`);
