import { InferenceSession, type Tensor as OrtTensor } from "onnxruntime-node";
import { readOnnxOutline } from "../onnx/onnx-outline.js";

/** The provider whose outputs onnxruntime-node can leave on the device; handles of others do not exist. */
const DEVICE = "webgpu";

/** Where outputs of a graph go: those whose names begin so stay on the device, if the provider can. */
export function outputPlaces(
  path: string,
  beginnings: readonly string[],
  providers: readonly string[],
): Pick<InferenceSession.SessionOptions, "preferredOutputLocation"> {
  if (beginnings.length === 0 || providers[0] !== DEVICE) return {};
  const names = readOnnxOutline(path).outputs.map(({ name }) => name);
  const staying = names.filter((name) => beginnings.some((start) => name.startsWith(start)));
  const places = staying.map((name) => [name, "gpu-buffer"] as const);
  return { preferredOutputLocation: Object.fromEntries(places) };
}

/** Brings tensors back from the device: `download()` throws in Node, so a graph of one Identity copies. */
export interface DeviceReader {
  /** The tensor itself where it is not on a device. */
  read(tensor: OrtTensor): Promise<OrtTensor>;
  close(): Promise<void>;
}

export function createDeviceReader(providers: readonly string[]): DeviceReader {
  const sessions = new Map<string, Promise<InferenceSession>>();
  const open = (type: string): Promise<InferenceSession> =>
    InferenceSession.create(identityGraph(type), { executionProviders: [...providers] });
  return {
    async read(tensor) {
      if (tensor.location !== "gpu-buffer") return tensor;
      const opening = sessions.get(tensor.type) ?? open(tensor.type);
      sessions.set(tensor.type, opening);
      const { y } = await (await opening).run({ x: tensor });
      if (y === undefined) throw new Error("a tensor did not come back from the device");
      return y;
    },
    async close() {
      for (const session of sessions.values()) await (await session).release();
      sessions.clear();
    },
  };
}

/** Numbers of onnx.proto3's TensorProto.DataType. */
const ELEMENT_TYPES: Readonly<Record<string, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
};

/** onnx.proto3's ModelProto of y = Identity(x), any shape, operator set 13. */
function identityGraph(type: string): Uint8Array {
  const elementType = ELEMENT_TYPES[type];
  if (elementType === undefined)
    throw new Error(`tensors of type ${type} are not read from a device`);
  const value = (name: string) => [
    ...message(1, Buffer.from(name)),
    ...message(2, message(1, [0x08, elementType])),
  ];
  const node = [
    ...message(1, Buffer.from("x")),
    ...message(2, Buffer.from("y")),
    ...message(4, Buffer.from("Identity")),
  ];
  const graph = [
    ...message(1, node),
    ...message(2, Buffer.from("read")),
    ...message(11, value("x")),
    ...message(12, value("y")),
  ];
  return Uint8Array.from([0x08, 8, ...message(7, graph), ...message(8, [0x10, 13])]);
}

/** A length-delimited field of fewer than 128 bytes. */
function message(field: number, bytes: Iterable<number>): number[] {
  const content = [...bytes];
  return [(field << 3) | 2, content.length, ...content];
}
