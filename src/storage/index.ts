export type { ArtifactStore, ByteRange } from "./artifact-store.js";
export { openArtifactStore } from "./open-store.js";
export { makePrivateFolder, makePrivateInside } from "./private-folder.js";
