/** Installs a set, unless that is what is there; the folder for PYTHONPATH. */
export function installPythonPackages(name: "examples" | "openapi"): Promise<string>;
