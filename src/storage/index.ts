import { join } from "node:path";
import type { ArtifactStore } from "./artifact-store.js";
import { createLocalStore } from "./local.js";

export type { ArtifactStore, ByteRange } from "./artifact-store.js";
export { makePrivateFolder, makePrivateInside } from "./private-folder.js";

/** The settings that choose a store: a bucket, or a folder below `dataDir`. */
export interface StoreSettings {
  readonly dataDir: string;
  readonly s3Bucket?: string | undefined;
  readonly s3Endpoint?: string | undefined;
  readonly s3Region: string;
  readonly s3AccessKeyId?: string | undefined;
  readonly s3SecretAccessKey?: string | undefined;
}

/** S3 where a bucket is named, else `dataDir/artifacts`. The S3 client is loaded only for S3. */
export async function openArtifactStore(settings: StoreSettings): Promise<ArtifactStore> {
  const { s3Bucket: bucket, s3Endpoint: endpoint, s3AccessKeyId, s3SecretAccessKey } = settings;
  if (bucket === undefined) return createLocalStore(join(settings.dataDir, "artifacts"));
  const { createS3Store } = await import("./s3.js");
  return createS3Store({
    bucket,
    region: settings.s3Region,
    ...(endpoint !== undefined && { endpoint }),
    ...(s3AccessKeyId !== undefined && { accessKeyId: s3AccessKeyId }),
    ...(s3SecretAccessKey !== undefined && { secretAccessKey: s3SecretAccessKey }),
  });
}
