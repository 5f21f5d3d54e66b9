/** Makes the environment of a set, unless that is what is there; its `bin` folder. */
export function installPythonPackages(name: string): Promise<string>;
