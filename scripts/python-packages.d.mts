/** Installs what examples/requirements.txt names, unless that is what is there; the folder for PYTHONPATH. */
export function installPythonPackages(): Promise<string>;
