import { useState } from "preact/hooks";

/** A key that lives as long as the tab: it is in no cookie, no address and no lasting storage. */
export function useStoredKey(name: string): [string, (key: string) => void] {
  const [key, setKey] = useState(() => sessionStorage.getItem(name) ?? "");
  const store = (value: string) => {
    if (value === "") sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, value);
    setKey(value);
  };
  return [key, store];
}
