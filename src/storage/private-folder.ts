import { chmod, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const OWNER_ONLY = 0o700;
const OTHERS = 0o077;
const STICKY = 0o1000;

/**
 * Makes a folder that its owner alone can enter, or makes it so. One that root owns is left as it is,
 * as orchestrators mount them, and so is a shared one like /tmp: what lies there is to be private
 * itself. Throws for one that belongs to another user; `setting` is what names the folder.
 */
export async function makePrivateFolder(path: string, setting: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: OWNER_ONLY });
  const own = process.getuid?.();
  if (own === undefined) return; // Windows: access lists, not modes
  const { uid, mode } = await stat(path);
  if (uid !== own && uid !== 0 && own !== 0) {
    throw new Error(
      `${setting} ${path} belongs to user ${uid}, who could read and change what user ${own} keeps there: choose a folder of your own`,
    );
  }
  const mayTighten = own === 0 || uid === own;
  if (mayTighten && (mode & OTHERS) !== 0 && (mode & STICKY) === 0) await chmod(path, OWNER_ONLY);
}

/** Takes from everybody but the owner what they may do with a folder's files and folders. */
export async function makePrivateInside(path: string): Promise<void> {
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o700);
    else if (entry.isFile()) await chmod(join(entry.parentPath, entry.name), 0o600);
  }
}
